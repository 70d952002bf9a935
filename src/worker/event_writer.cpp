// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/event_writer.hpp"

#include <cstddef>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <thread>

#include "base/files.hpp"
#include "protocol/event_lines.hpp"

namespace dtrain::worker {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t one_read = 4096;
constexpr std::chrono::microseconds between_looks{200};

bool is_pipe(int fd) {
    struct stat info {};
    return ::fstat(fd, &info) == 0 && S_ISFIFO(info.st_mode);
}

bool fits_one_read(int fd, std::size_t bytes) {
    int unread = 0;
    return ::ioctl(fd, FIONREAD, &unread) != 0 || static_cast<std::size_t>(unread) + bytes <= one_read;
}

}  // namespace

void write_event(int fd, const cluster::Event& event, std::chrono::milliseconds patience) {
    const bool waits = is_pipe(fd);
    const auto until = Clock::now() + patience;
    for (const auto& line : cluster::lines_of(event)) {
        while (waits && !fits_one_read(fd, line.size()) && Clock::now() < until)
            std::this_thread::sleep_for(between_looks);
        if (!write_all(fd, line)) return;
    }
}

}  // namespace dtrain::worker
