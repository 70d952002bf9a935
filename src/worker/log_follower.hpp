// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <string>
#include <string_view>
#include <sys/types.h>

#include "base/files.hpp"

namespace dtrain::worker {

/// Shows on `console` what a program appends to its log, as it comes. The file is the buffer: a slow reader
/// costs no memory and loses nothing, unless the log is bounded and has moved on by more than it keeps.
class LogFollower {
  public:
    /// Begins at the present end of the file.
    /// @param prefix stands before each line; empty: the log is shown byte for byte
    LogFollower(std::filesystem::path log, int console, std::string prefix = "");

    /// Becomes readable when the file may have grown; -1 where the kernel has no watch left to give, as when
    /// very many ranks of a node are shown: then call note_growth() from time to time.
    int growth_fd() const { return watch_.get(); }
    /// Where to wait for POLLOUT while wants_to_write().
    int console_fd() const { return console_; }
    bool wants_to_write() const { return pending_; }

    /// Call when growth_fd() is readable.
    void note_growth();
    /// Call when console_fd() can be written: one piece that fits without blocking.
    void write_piece();
    /// Writes all that is there; blocks while the reader is slow, gives up when it is gone.
    void drain();

    /// The next change of files would delete what is not shown yet, and the console does take it: it has not
    /// stood still for timeout.
    bool needs_time() const;
    static constexpr std::chrono::milliseconds timeout{1000};

    std::uintmax_t bytes_shown() const { return bytes_shown_; }

    /// Call when the log has become its predecessor and a new file is in its place, see RotatingLog.
    void note_rotation();

  private:
    void watch_log();
    void skip_what_is_deleted();
    void begin_next_file();
    void want_to_write();
    void show_lines(std::string_view bytes);
    bool show(std::string_view text);

    std::filesystem::path log_;
    int console_;
    std::string prefix_;
    FileDescriptor watch_;
    std::deque<FileDescriptor> files_;  // the one that is being shown, then its successors
    off_t shown_ = 0;                   // of the first
    off_t skipped_ = 0;
    std::uintmax_t bytes_shown_ = 0;
    std::chrono::steady_clock::time_point standing_since_;  // of the console, while pending_
    bool pending_ = false;
    bool draining_ = false;
    bool reader_gone_ = false;
};

}  // namespace dtrain::worker
