// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dtrain {

/// A line at the bottom of a terminal that is updated in place and removed before other output. Does nothing
/// without a terminal. Never blocks on a stopped terminal.
class StatusLine {
  public:
    /// @param terminal a file descriptor; if it is not a terminal, or -1, nothing is ever shown
    explicit StatusLine(int terminal);

    /// The status line of standard output, if somebody watches it.
    static StatusLine on_output();

    bool on_terminal() const { return terminal_ >= 0; }
    /// Maximum width of a text, in columns.
    std::size_t width() const;
    void show(const std::string& text);
    /// Must be called before anything else is written to the terminal.
    void clear();

  private:
    int terminal_;
    std::string shown_;
};

/// The beginning of the text, at most `width` bytes, without an incomplete character. Pure.
std::string cut_to(std::string text, std::size_t width);

/// Whether somebody watches the output as it is written: a terminal, but not one that an MPI launcher creates
/// for each rank to forward its output to a file or a pipe.
/// @param kind terminal type, as in TERM; on "dumb" ones lines cannot be updated
bool is_watched(int fd, std::string_view kind);

}  // namespace dtrain
