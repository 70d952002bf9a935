// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dtrain {

/// The arguments that a POSIX shell makes of a command line: blanks separate, '...' "..." and \ quote as they
/// do there. Nothing is expanded, no character is an operator. Pure.
/// @throws UsageError naming the text when a quote is not closed or nothing follows the last backslash.
std::vector<std::string> shell_args(std::string_view text);

/// An argument as a POSIX shell would need it typed.
std::string shell_quoted(std::string_view arg);

/// Arguments as a command line, which shell_args() makes the same arguments of.
std::string shell_line(const std::vector<std::string>& args);

}  // namespace dtrain
