// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <utility>

#include "base/files.hpp"

namespace dtrain::worker {

/// Where a program's output is shown.
struct Console {
    int fd;  ///< to poll for POLLOUT
    /// Writes all of the text; false if nobody reads it any more.
    std::function<bool(std::string_view)> write;

    static Console of(int fd);
};

/// How it is shown.
struct ConsoleStyle {
    std::string prefix;  ///< put before each line
    bool by_line =
        false;  ///< lines of several programs do not mix; not set: byte for byte, unless there is a prefix
};

/// Copies what a program appends to its log to `console`, as it is written. The file is the buffer: a slow
/// reader costs no memory and loses nothing, unless the log is bounded and the reader falls behind by more
/// than the log keeps.
class LogFollower {
  public:
    /// Starts at the current end of the file.
    /// @param prefix put before each line; empty: the log is copied byte for byte
    LogFollower(std::filesystem::path log, int console, std::string prefix = "")
        : LogFollower(std::move(log), Console::of(console), {.prefix = std::move(prefix)}) {}
    LogFollower(std::filesystem::path log, Console console, ConsoleStyle style);

    /// Becomes readable when the file may have grown; -1 if the kernel has no inotify watch left (very many
    /// ranks of a node are shown): then call note_growth() from time to time.
    int growth_fd() const { return watch_.get(); }
    /// Descriptor to poll for POLLOUT while wants_to_write().
    int console_fd() const { return console_.fd; }
    bool wants_to_write() const { return pending_; }

    /// Call when growth_fd() is readable.
    void note_growth();
    /// Call when console_fd() is writable: writes one piece that fits without blocking.
    void write_piece();
    /// Writes everything that is left; blocks while the reader is slow, stops if the reader is gone.
    void drain();

    /// True if the next rotation would delete lines that are not shown yet while the console still accepts
    /// output: its last write was less than `timeout` ago.
    bool needs_time() const;
    static constexpr std::chrono::milliseconds timeout{1000};

    /// Milliseconds until an unfinished line without a prefix is shown all the same, such as a prompt; -1:
    /// there is none. When they are over, call note_growth().
    int ms_to_unfinished_line() const;

    std::uintmax_t bytes_shown() const { return bytes_shown_; }

    /// Call when the log has been renamed and a new file has replaced it, see RotatingLog.
    void note_rotation();

  private:
    void watch_log();
    void skip_what_is_deleted();
    void begin_next_file();
    void want_to_write();
    void show_bytes(std::string_view bytes);
    void show_lines(std::string_view bytes);
    bool is_complete(std::string_view bytes) const;
    bool show(std::string_view text);

    std::filesystem::path log_;
    Console console_;
    ConsoleStyle style_;
    FileDescriptor watch_;
    std::deque<FileDescriptor> files_;  // the file being shown, then its successors
    off_t shown_ = 0;                   // offset in the first file
    off_t skipped_ = 0;
    std::uintmax_t bytes_shown_ = 0;
    std::chrono::steady_clock::time_point last_progress_;  // last progress of the console, while pending_
    std::size_t unfinished_ = 0;  // bytes of the line that is not shown yet, without a prefix
    std::chrono::steady_clock::time_point unfinished_since_;
    bool pending_ = false;
    bool draining_ = false;
    bool reader_gone_ = false;
};

}  // namespace dtrain::worker
