// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/environment.hpp>

namespace dtrain::launch {

/// A dtrain-launch command line as typed.
struct Options {
    std::optional<std::string> gpus;
    std::optional<int> nproc_per_node;
    std::string log_dir = "log";
    std::string run_mode = "collective";
    std::string job_id = "default";
    std::optional<int> start_port;
    std::chrono::milliseconds grace{0};
    bool bind = true;
    enum class DryRun { off, table, json };
    DryRun dry_run = DryRun::off;
    std::string script;
    std::vector<std::string> script_arguments;
};

struct ParsedOptions {
    Options options;
    std::optional<std::string> text;  ///< --help, --version: print this and exit with 0
};

/// Options end at the first word that is none; everything after it belongs to the script. Pure.
/// @throws UsageError with one line; for an unknown option it names the nearest known one.
ParsedOptions parse_options(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace dtrain::launch
