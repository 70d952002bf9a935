// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dtrain {

/// Splits a command line into arguments like a POSIX shell: blanks separate, '...' "..." and \ quote. Nothing
/// is expanded, and no character is an operator. Pure.
/// @throws UsageError naming the text if a quote is not closed or nothing follows the last backslash.
std::vector<std::string> shell_args(std::string_view text);

/// Quotes an argument for a POSIX shell.
std::string shell_quoted(std::string_view arg);

/// Joins arguments into a command line that shell_args() splits into the same arguments.
std::string shell_line(const std::vector<std::string>& args);

}  // namespace dtrain
