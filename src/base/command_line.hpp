// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace dtrain {

/// Parses the words behind a program's name up to the first that is no option (`prefix_command`).
/// @return what --help or --version has to print; then the options hold nothing
/// @throws UsageError naming what is wrong and the program's --help
std::optional<std::string> parse_leading_options(CLI::App& app, std::vector<std::string> words);

/// Adds --grace: seconds between asking a program to stop and killing it.
void add_grace_option(CLI::App& app, double& seconds, const std::string& group);

/// @throws UsageError for a number that is none (nan), which no range refuses
std::chrono::milliseconds grace_of(double seconds);

inline constexpr double default_grace_seconds = 10;

}  // namespace dtrain
