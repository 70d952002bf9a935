// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/command_line.hpp"

#include <algorithm>
#include <cmath>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <dtrain/error.hpp>

namespace dtrain {

std::optional<std::string> parse_leading_options(CLI::App& app, std::vector<std::string> words) {
    app.prefix_command();
    try {
        std::reverse(words.begin(), words.end());
        app.parse(std::move(words));
    } catch (const CLI::CallForVersion& version_text) {
        return std::string(version_text.what()) + "\n";
    } catch (const CLI::Success&) {
        return app.help();
    } catch (const CLI::ParseError& error) {
        throw UsageError(fmt::format("{}; see {} --help", error.what(), app.get_name()));
    }
    return std::nullopt;
}

void add_grace_option(CLI::App& app, double& seconds, const std::string& group) {
    app.add_option("--grace", seconds, "Seconds between asking a program to stop and killing it")
        ->check(CLI::Range(0.0, 86400.0))
        ->capture_default_str()
        ->group(group);
}

std::chrono::milliseconds grace_of(double seconds) {
    if (std::isnan(seconds)) throw UsageError("--grace nan is no number of seconds; write it like 10 or 0.5");
    return std::chrono::milliseconds(static_cast<long>(seconds * 1000));
}

}  // namespace dtrain
