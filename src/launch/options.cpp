// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/options.hpp"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <dtrain/error.hpp>
#include <dtrain/version.hpp>

#include "base/command_line.hpp"
#include "base/text.hpp"

namespace dtrain::launch {
namespace {

constexpr const char* footer =
    R"(After the options come the training script (.py, .toml or a program) and the script's own arguments.

Examples:
  dtrain-launch --gpus 0,1 train.py --batch_size=64   one process for each of GPU 0 and 1
  dtrain-launch --nproc_per_node 2 train.py           two processes; on a machine without GPUs two CPU processes
  dtrain-launch --nproc_per_node 2 job.toml           train a job file without any code
  dtrain-launch --dry-run --nproc_per_node 2 train.py show the plan and the command, start nothing)";

std::vector<std::string> known_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const auto* option : app.get_options())
        for (const auto& name : option->get_lnames()) names.push_back("--" + name);
    return names;
}

[[noreturn]] void refuse_unknown(const CLI::App& app, const std::string& word) {
    const auto name = word.substr(0, word.find('='));
    const auto near = nearest(name, known_names(app));
    throw UsageError(
        fmt::format("unknown option \"{}\"{}; options of the script go behind it; see dtrain-launch --help",
                    name, near ? fmt::format(" (did you mean {}?)", *near) : ""));
}

}  // namespace

ParsedOptions parse_options(const std::vector<std::string>& arguments, const Environment& environment) {
    ParsedOptions parsed;
    auto& options = parsed.options;
    double grace_s = environment.get_int("DTRAIN_GRACE").value_or(default_grace_seconds);
    std::string bind = "auto", dry_run;

    CLI::App app(
        "Starts a distributed training job: plans ranks, GPUs, cores and ports, starts them through mpirun, "
        "watches, and reports.",
        "dtrain-launch");
    app.footer(footer);
    app.get_formatter()->column_width(44);
    app.set_version_flag("--version", std::string("dtrain ") + version)->group("Base Parameters");
    app.set_help_flag("-h,--help", "Print this and exit")->group("Base Parameters");
    app.add_option("--log_dir,--log-dir", options.log_dir, "Folder of workerlog.<rank> and endpoints.log")
        ->capture_default_str()
        ->group("Base Parameters");
    app.add_option("--run_mode,--run-mode", options.run_mode, "collective")
        ->capture_default_str()
        ->group("Base Parameters");
    app.add_option("--job_id,--job-id", options.job_id, "Name of the job")
        ->capture_default_str()
        ->group("Base Parameters");
    app.add_option("--gpus,--selected_gpus,--selected-gpus,--devices", options.gpus,
                   "GPUs to use, by physical id: 0,1,2,3 (default: all of CUDA_VISIBLE_DEVICES)")
        ->group("Collective Parameters");
    app.add_option("--nproc_per_node,--nproc-per-node", options.nproc_per_node,
                   "Processes on this node; divides the GPUs evenly, or counts CPU processes")
        ->group("Collective Parameters");
    app.add_option("--start_port,--start-port", options.start_port,
                   "First of consecutive ports (default: free ones)")
        ->check(CLI::Range(1, 65000))
        ->group("Collective Parameters");
    add_grace_option(app, grace_s, "dtrain");
    app.add_option("--bind", bind, "auto: cores and memory near the rank's GPU; none: no binding")
        ->check(CLI::IsMember({"auto", "none"}))
        ->capture_default_str()
        ->group("dtrain");
    app.add_flag("--dry-run{table},--dry_run{table}", dry_run,
                 "Print the plan (--dry-run=json: for programs), start nothing")
        ->check(CLI::IsMember({"table", "json"}))
        ->group("dtrain");
    parsed.text = parse_leading_options(app, arguments);
    if (parsed.text) return parsed;
    options.grace = grace_of(grace_s);
    options.bind = bind == "auto";
    if (!dry_run.empty())
        options.dry_run = dry_run == "json" ? Options::DryRun::json : Options::DryRun::table;
    if (options.run_mode != "collective")
        throw UsageError(fmt::format(
            "--run_mode {} is not there; this version of dtrain runs collective jobs", options.run_mode));

    auto rest = app.remaining();
    if (!rest.empty() && rest.front() == "--")
        rest.erase(rest.begin());
    else if (!rest.empty() && rest.front().starts_with("-"))
        refuse_unknown(app, rest.front());
    if (rest.empty())
        throw UsageError("no training script; write dtrain-launch [options] script.py [script options]");
    options.script = rest.front();
    options.script_arguments.assign(rest.begin() + 1, rest.end());
    return parsed;
}

}  // namespace dtrain::launch
