// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace dtrain {

/// Base class of all exceptions that dtrain throws deliberately. `what()` is one line that is safe to print
/// on a terminal: what was wrong, the offending value, and what to do about it. The constructor writes
/// control characters and invalid UTF-8 bytes as `\n` or `\x1b`, and leaves out the middle of a very long
/// message.
class Error : public std::runtime_error {
  public:
    /// @param message what(), if it is safe to print
    explicit Error(const std::string& message);
};

/// Invalid input: an option, a variable, a job file, a data file. The tools print it as one line on stderr
/// and exit with status 2 before anything has started.
class UsageError : public Error {
  public:
    /// @param message what was wrong, the value, what to do
    explicit UsageError(const std::string& message) : Error(message) {}
};

}  // namespace dtrain
