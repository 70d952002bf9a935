// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/options.hpp"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <dtrain/error.hpp>
#include <dtrain/version.hpp>

#include "base/command_line.hpp"

namespace dtrain::worker {
namespace {

constexpr const char* footer = R"(Ways to use it:
  mpirun -np 8 dtrain-worker                     train the built-in example on 8 ranks
  mpirun -np 8 dtrain-worker job.toml            train a job file (dtrain-worker job.toml --help: its options)
  srun dtrain-worker -- python3 train.py         run a program on every rank, pinned and supervised
  dtrain-worker --info                           this machine as dtrain sees it)";

}  // namespace

ParsedOptions parse_options(const std::vector<std::string>& arguments, const Environment& environment) {
    const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
    const std::vector<std::string> before(arguments.begin(), dashes);

    ParsedOptions parsed;
    auto& options = parsed.options;
    double grace_s = environment.get_int("DTRAIN_GRACE").value_or(default_grace_seconds);
    options.log_dir = environment.get_or("DTRAIN_LOG_DIR", options.log_dir);
    std::string bind = "auto", info;

    CLI::App app(
        "One rank of a job: pins itself, sets the variables, then supervises a program or trains a job file.",
        "dtrain-worker");
    app.footer(footer);
    app.set_version_flag("--version", std::string("dtrain ") + version);
    app.add_option("--log_dir,--log-dir", options.log_dir, "Folder of workerlog.<rank>")
        ->capture_default_str();
    add_grace_option(app, grace_s, "Options");
    app.add_option("--start_port,--start-port", options.start_port, "First port of this node's ranks")
        ->check(CLI::Range(1, 65000));
    app.add_option("--bind", bind, "auto: cores and memory near the rank's GPU; none: leave the mask alone")
        ->check(CLI::IsMember({"auto", "none"}))
        ->capture_default_str();
    app.add_option("--role", options.role, "Part of this rank in a parameter-server job")
        ->check(CLI::IsMember({"server", "worker", "heter_worker"}));
    app.add_flag("--info{text}", info, "Print this machine as dtrain sees it (--info=json: for programs)")
        ->check(CLI::IsMember({"text", "json"}));
    const auto own_end = before.begin() + static_cast<std::ptrdiff_t>(count_leading_options(app, before));
    parsed.text = parse_words(app, {before.begin(), own_end});
    if (parsed.text) return parsed;
    options.grace = grace_of(grace_s);
    options.bind = bind == "auto";
    options.command.assign(own_end, before.end());
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
