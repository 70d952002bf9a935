// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dtrain {

/// A line at the end of a terminal that changes in place and makes room for everything else. Without a
/// terminal it is nothing. It never waits for a terminal that is stopped.
class StatusLine {
  public:
    /// @param terminal a file descriptor; when that is no terminal, or -1, nothing is ever shown
    explicit StatusLine(int terminal);

    /// That of standard output, where somebody watches it.
    static StatusLine on_output();

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

/// The text's beginning, at most `width` bytes, no half character. Pure.
std::string cut_to(std::string text, std::size_t width);

/// Whether somebody sees what is written there as it comes: a terminal, which is not the one that an MPI
/// launcher makes for each rank to send its output on to a file or a pipe.
/// @param kind of terminal, as TERM says it; "dumb" ones have lines that do not change
bool is_watched(int fd, std::string_view kind);

}  // namespace dtrain
