// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace dtrain::launch {

/// What a person who waits for a job wants to see.
struct JobStatus {
    int size = 0;
    int up = 0;
    int done = 0;
    std::chrono::seconds elapsed{0};
    std::string log_dir;
};

/// "3 of 4 ranks up, 1 done, 12 s, logs in log", at most `width` columns. Pure.
std::string status_text(const JobStatus& status, std::size_t width);

/// A line at the end of a terminal that changes in place and makes room for everything else. Without a
/// terminal it is nothing. It never waits for a terminal that is stopped.
class StatusLine {
  public:
    /// @param terminal a file descriptor; when that is no terminal, or -1, nothing is ever shown
    explicit StatusLine(int terminal);

    bool on_terminal() const { return terminal_ >= 0; }
    /// Columns that a text may have.
    std::size_t width() const;
    void show(const std::string& text);
    /// Call before anything else is written to the terminal.
    void clear();

  private:
    int terminal_;
    std::string shown_;
};

}  // namespace dtrain::launch
