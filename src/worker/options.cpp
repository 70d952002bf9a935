// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/options.hpp"

#include <algorithm>
#include <cmath>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <dtrain/error.hpp>
#include <dtrain/version.hpp>

namespace dtrain::worker {
namespace {

constexpr double default_grace_s = 10;

constexpr const char* footer = R"(Ways to use it:
  mpirun -np 8 dtrain-worker                     train the built-in example on 8 ranks
  mpirun -np 8 dtrain-worker job.toml            train a job file (dtrain-worker job.toml --help: its options)
  srun dtrain-worker -- python3 train.py         run a program on every rank, pinned and supervised
  dtrain-worker --info                           this machine as dtrain sees it)";

}  // namespace

ParsedOptions parse_options(const std::vector<std::string>& arguments, const Environment& environment) {
    const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
    std::vector<std::string> own(arguments.begin(), dashes);

    ParsedOptions parsed;
    auto& options = parsed.options;
    double grace_s = environment.get_int("DTRAIN_GRACE").value_or(default_grace_s);
    options.log_dir = environment.get_or("DTRAIN_LOG_DIR", options.log_dir);
    std::string bind = "auto", info;

    CLI::App app(
        "One rank of a job: pins itself, sets the variables, then supervises a program or trains a job file.",
        "dtrain-worker");
    app.footer(footer);
    app.set_version_flag("--version", std::string("dtrain ") + version);
    app.add_option("--log_dir,--log-dir", options.log_dir, "Folder of workerlog.<rank>")
        ->capture_default_str();
    app.add_option("--grace", grace_s, "Seconds between asking a program to stop and killing it")
        ->check(CLI::Range(0.0, 86400.0))
        ->capture_default_str();
    app.add_option("--start_port,--start-port", options.start_port, "First port of this node's ranks")
        ->check(CLI::Range(1, 65000));
    app.add_option("--bind", bind, "auto: cores and memory near the rank's GPU; none: leave the mask alone")
        ->check(CLI::IsMember({"auto", "none"}))
        ->capture_default_str();
    app.add_flag("--info{text}", info, "Print this machine as dtrain sees it (--info=json: for programs)")
        ->check(CLI::IsMember({"text", "json"}));
    app.prefix_command();  // what follows the first other word belongs to the native job
    try {
        std::reverse(own.begin(), own.end());
        app.parse(own);
    } catch (const CLI::CallForVersion& version_text) {
        parsed.text = std::string(version_text.what()) + "\n";
        return parsed;
    } catch (const CLI::Success&) {
        parsed.text = app.help();
        return parsed;
    } catch (const CLI::ParseError& error) {
        throw UsageError(fmt::format("{}; see dtrain-worker --help", error.what()));
    }
    if (std::isnan(grace_s))  // which is neither below nor above the range
        throw UsageError("--grace nan is no number of seconds; write it like 10 or 0.5");
    options.grace = std::chrono::milliseconds(static_cast<long>(grace_s * 1000));
    options.bind = bind == "auto";
    options.command = app.remaining();
    if (!info.empty()) {
        options.task = Options::Task::info;
        options.command = {info == "json" ? "--info=json" : "--info"};
    } else if (dashes != arguments.end()) {
        if (!options.command.empty())
            throw UsageError(fmt::format("unknown option or word \"{}\" before --; see dtrain-worker --help",
                                         options.command.front()));
        options.task = Options::Task::supervise;
        options.command.assign(dashes + 1, arguments.end());
        if (options.command.empty())
            throw UsageError("no program after --; write dtrain-worker -- program args");
    } else if (!options.command.empty() && !options.command.front().starts_with("-") &&
               !options.command.front().ends_with(".toml")) {
        throw UsageError(
            fmt::format("\"{0}\" is no job file (.toml); to run a program write: dtrain-worker -- {0}",
                        options.command.front()));
    }
    return parsed;
}

}  // namespace dtrain::worker
