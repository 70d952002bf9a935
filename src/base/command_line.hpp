// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/option_text.hpp"

namespace CLI {
class App;
}

namespace dtrain {

/// Parses the arguments after a program's name; the extras that `app` allows are in its remaining().
/// @return the output of --help or --version; if set, the options have no values
/// @throws UsageError naming the error and the program's --help
std::optional<std::string> parse_args(CLI::App& app, std::vector<std::string> args);

/// The number of leading arguments that are options of `app` or their values. The next argument is not an
/// option, or one of another program.
std::size_t count_leading_options(const CLI::App& app, const std::vector<std::string>& args);

/// The option of `app` that the user most likely meant by `argument`: "--gpus", or nothing.
std::optional<std::string> nearest_option(const CLI::App& app, const std::string& arg);

/// The options of `app`, without positional ones and those without a group, for completion and the manual
/// page.
std::vector<OptionText> option_texts(const CLI::App& app);

/// parse_args() up to the first argument that is not an option (`prefix_command`).
std::optional<std::string> parse_leading_options(CLI::App& app, std::vector<std::string> args);

/// Sets the text after the program's name in the line "Usage:" of --help: "[options] script".
void set_usage(CLI::App& app, const std::string& args);

/// Adds --grace: seconds between asking a program to stop and killing it.
void add_grace_option(CLI::App& app, double& seconds, const std::string& group);

/// @throws UsageError for an invalid value: the range of --grace does not apply to DTRAIN_GRACE and nan
std::chrono::milliseconds grace_of(double seconds);
/// Like grace_of(), for another option in seconds.
std::chrono::milliseconds duration_of(const std::string& option, double seconds);

inline constexpr double default_grace_seconds = 10;

}  // namespace dtrain
