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

/// Parses the arguments behind a program's name; what `app` allows as extras is left in its remaining().
/// @return what --help or --version has to print; then the options hold nothing
/// @throws UsageError naming what is wrong and the program's --help
std::optional<std::string> parse_args(CLI::App& app, std::vector<std::string> args);

/// How many of the arguments, counted from the first, are options that `app` has and their values. What
/// follows begins with an argument that is no option, or one of somebody else.
std::size_t count_leading_options(const CLI::App& app, const std::vector<std::string>& args);

/// The option of `app` that somebody who typed `argument` most likely meant: "--gpus", or nothing.
std::optional<std::string> nearest_option(const CLI::App& app, const std::string& arg);

/// The options of `app`, without positional ones and those of no group, for completion and the manual page.
std::vector<OptionText> option_texts(const CLI::App& app);

/// parse_args() up to the first argument that is no option (`prefix_command`).
std::optional<std::string> parse_leading_options(CLI::App& app, std::vector<std::string> args);

/// What the line of --help that begins with "Usage:" says behind the program's name: "[options] script".
void set_usage(CLI::App& app, const std::string& args);

/// Adds --grace: seconds between asking a program to stop and killing it.
void add_grace_option(CLI::App& app, double& seconds, const std::string& group);

/// @throws UsageError for what cannot be: the range of --grace does not hold for DTRAIN_GRACE and for nan
std::chrono::milliseconds grace_of(double seconds);
/// The same for another option that takes seconds.
std::chrono::milliseconds duration_of(const std::string& option, double seconds);

inline constexpr double default_grace_seconds = 10;

}  // namespace dtrain
