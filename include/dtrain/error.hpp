// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace dtrain {

/// Base of every exception that dtrain throws on purpose. `what()` is one line that a terminal can show: what
/// was wrong, with the value, and what to do about it. Whatever bytes the value has, the constructor writes
/// control characters and bytes that are no UTF-8 as `\n` or `\x1b`, and leaves out the middle of a very long
/// message.
class Error : public std::runtime_error {
  public:
    explicit Error(const std::string& message);
};

/// Input that cannot be used: an option, a variable, a job file, a data file. The tools print it as one line
/// on stderr and exit with status 2 before anything has started.
class UsageError : public Error {
  public:
    explicit UsageError(const std::string& message) : Error(message) {}
};

}  // namespace dtrain
