// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/log_follower.hpp"

#include <array>
#include <fcntl.h>
#include <poll.h>
#include <string_view>
#include <sys/inotify.h>
#include <unistd.h>

#include <climits>

namespace dtrain::worker {

LogFollower::LogFollower(const std::filesystem::path& log, int console)
    : log_(::open(log.c_str(), O_RDONLY | O_CLOEXEC)),
      watch_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)),
      console_(console) {
    shown_ = ::lseek(log_.get(), 0, SEEK_END);
    ::inotify_add_watch(watch_.get(), log.c_str(), IN_MODIFY);
}

void LogFollower::note_growth() {
    std::array<char, 4096> events;
    while (::read(watch_.get(), events.data(), events.size()) > 0) {
    }
    pending_ = !reader_gone_;
}

void LogFollower::write_piece() {
    // A pipe that polls writable takes PIPE_BUF bytes at once.
    std::array<char, PIPE_BUF> piece;
    const auto got = ::pread(log_.get(), piece.data(), piece.size(), shown_);
    if (got <= 0) {
        pending_ = false;
        return;
    }
    if (write_all(console_, {piece.data(), static_cast<std::size_t>(got)})) {
        shown_ += got;
    } else {
        reader_gone_ = true;
        pending_ = false;
    }
}

void LogFollower::drain() {
    pending_ = !reader_gone_;
    while (pending_) write_piece();
}

}  // namespace dtrain::worker
