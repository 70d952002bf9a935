// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/piped_log.hpp"

#include <array>
#include <cerrno>
#include <unistd.h>
#include <utility>

namespace dtrain::worker {

PipedLog::PipedLog(RotatingLog log) : log_(std::move(log)), pipe_(Pipe::open()) {
    make_nonblocking(pipe_.read_end.get());
}

bool PipedLog::take() {
    std::array<char, 65536> piece;
    const auto got = ::read(fd(), piece.data(), piece.size());
    if (got > 0) log_.append({piece.data(), static_cast<std::size_t>(got)});
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) pipe_.read_end.reset();
    return got > 0;
}

void PipedLog::take_rest() {
    while (fd() >= 0 && take()) {
    }
}

}  // namespace dtrain::worker
