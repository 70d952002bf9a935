// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/jobs/job_commands.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/command_line.hpp"
#include "base/exec_image.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "base/subprocess.hpp"
#include "base/wall_clock.hpp"
#include "launch/jobs/elsewhere.hpp"
#include "launch/options/command_table.hpp"
#include "protocol/event.hpp"

namespace dtrain::launch {
namespace {

constexpr std::array<std::string_view, 5> job_command_names{"status", "logs", "stacks", "explain", "cancel"};

struct JobCommand {
    std::string name;
    std::string job;
    std::string ranks;
    bool follow = false;
    bool json = false;
    bool now = false;
    bool local_only = false;          ///< do not forward to another machine
    bool without_waiting = false;     ///< do not wait until a cancelled job has ended
    std::optional<std::string> text;  ///< output of --help
};

JobCommand parse_job_command(const std::vector<std::string>& arguments) {
    JobCommand out{.name = arguments.front()};
    const auto& row = command_row(out.name);
    CLI::App app{std::string(row.help), "dtrain-launch " + out.name};
    auto* job = app.add_option("JOB", out.job,
                               "Its name as dtrain-launch status shows it, or the scheduler's number");
    if (out.name != "status") job->required();
    set_usage(app, std::string(row.arguments));
    if (out.name == "status") app.add_flag("--json", out.json, "For programs");
    if (out.name == "logs")
        app.add_flag("-f,--follow", out.follow, "Go on until the job ends, and with its status");
    if (out.name == "logs" || out.name == "stacks")
        app.add_option("--rank", out.ranks, "These ranks: 0,2-3 or all")->type_name("RANKS");
    if (out.name == "cancel")
        app.add_flag("--now", out.now, "Kill it at once; the programs cannot write a checkpoint");
    app.add_flag("--here", out.local_only)->group("");
    app.add_flag("--without-waiting", out.without_waiting)->group("");
    out.text = parse_args(app, {arguments.begin() + 1, arguments.end()});
    return out;
}

std::optional<cluster::RankList> ranks_of(const JobCommand& command) {
    if (command.ranks.empty()) return std::nullopt;
    try {
        return cluster::RankList::parse(command.ranks);
    } catch (const UsageError& error) {
        throw UsageError(fmt::format("--rank: {}", error.what()));
    }
}

/// The same command, for the machine of the job's launcher.
std::vector<std::string> remote_args(const JobRecord& record, const std::vector<std::string>& arguments) {
    std::vector<std::string> args{this_executable().string(), arguments.front(), "--here"};
    for (auto arg = arguments.begin() + 1; arg != arguments.end(); ++arg)
        args.push_back(is_called(record, *arg) ? full_name(record) : *arg);
    return args;
}

int run_remotely(const JobRecord& record, const JobCommand& command,
                 const std::vector<std::string>& arguments, const KnownJobs& jobs,
                 const Environment& environment) {
    const Way way(record, jobs.folder(), environment);
    if (!way.obstacle().empty()) throw Error(fmt::format("{}: {}", full_name(record), way.obstacle()));
    auto args = remote_args(record, arguments);
    if (command.name == "cancel" && way.is_step()) {
        args.emplace_back("--without-waiting");
        return cancel_by_step(record, jobs, way.command(args), environment);
    }
    const auto argv = way.command(args);
    const auto program = find_in_path(argv.front(), environment);
    const int error = ExecImage(argv, environment).become(program->c_str());
    throw Error(fmt::format("cannot execute {}: {}", *program, std::strerror(error)));
}

int show_status(const JobCommand& command, const KnownJobs& jobs) {
    std::vector<JobStatus> found;
    if (!command.job.empty()) {
        const auto record = jobs.find(command.job);
        found.push_back(
            command.local_only && record.host != host_name()
                ? JobStatus{.record = record, .state = "unreachable", .why = "this is " + host_name()}
                : jobs.examine(record, true));
    } else {
        found = command.local_only ? jobs.examine_own() : jobs.examine_all();
    }
    jobs.forget(found);
    if (command.job.empty()) std::erase_if(found, [](const JobStatus& job) { return job.state == "ended"; });
    if (command.json)
        write_all(STDOUT_FILENO, to_json(found));
    else if (!command.job.empty())
        write_all(STDOUT_FILENO, status_text(found.front(), now_us()));
    else
        write_all(STDOUT_FILENO, found.empty() ? "no job of yours is running or in a queue\n"
                                               : status_table(found, now_us()));
    return 0;
}

int run_for(const JobRecord& record, const JobCommand& command, const KnownJobs& jobs) {
    const auto ranks = ranks_of(command);
    if (command.name == "logs") return show_logs(record, {.follow = command.follow, .ranks = ranks});
    if (command.name == "stacks") return show_stacks(record, ranks.value_or(cluster::RankList::all()));
    if (command.name == "explain") return explain_job(record);
    signal_running(record, jobs, command.now);
    return command.without_waiting ? 0 : wait_until_ended(record, jobs);
}

}  // namespace

bool is_job_command(const std::vector<std::string>& arguments) {
    return !arguments.empty() && std::find(job_command_names.begin(), job_command_names.end(),
                                           arguments.front()) != job_command_names.end();
}

int run_job_command(const std::vector<std::string>& arguments, const Environment& environment) {
    const auto command = parse_job_command(arguments);
    if (command.text) {
        write_all(STDOUT_FILENO, *command.text);
        return 0;
    }
    ranks_of(command);  // checks the ranks before any launcher is asked
    const KnownJobs jobs(environment);
    if (command.name == "status") return show_status(command, jobs);
    const auto record = jobs.find(command.job);
    if (record.host.empty()) {
        if (command.name == "cancel") return cancel_in_queue(record, jobs, command.now, environment);
        const auto status = jobs.examine(record, false);
        throw Error(fmt::format("job {} is {}: {}", record.job, status.state, status.why));
    }
    if (record.host == host_name()) return run_for(record, command, jobs);
    if (command.local_only)
        throw Error(fmt::format("this is {}, and the launcher of {} runs on {}", host_name(), record.job,
                                record.host));
    return run_remotely(record, command, arguments, jobs, environment);
}

}  // namespace dtrain::launch
