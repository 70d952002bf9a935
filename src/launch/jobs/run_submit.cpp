// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/jobs/run_submit.hpp"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/files.hpp"
#include "base/log.hpp"
#include "base/redact.hpp"
#include "base/subprocess.hpp"
#include "base/temporary_folder.hpp"
#include "base/text.hpp"
#include "cluster/event.hpp"
#include "launch/jobs/batch_script.hpp"
#include "launch/jobs/job_record.hpp"
#include "launch/options/begin_log.hpp"
#include "launch/options/option_table.hpp"
#include "launch/options/settings.hpp"
#include "launch/plan/program.hpp"

namespace dtrain::launch {
namespace {

constexpr std::chrono::minutes submit_limit{1};

/// A misspelled script must not be noticed only after hours in a queue.
void refuse_missing_script(const Options& options, const Environment& environment) {
    program_for(options.script, options.script_arguments, "", real_files(environment));
}

std::string refused(const Captured& answer) {
    const auto said = trimmed(answer.err);
    return one_line(said.empty() ? trimmed(answer.out) : said);
}

/// The number of the new job.
std::string submit_to_slurm(const std::string& script, const Environment& environment) {
    if (!find_in_path("sbatch", environment))
        throw UsageError(
            "sbatch is not in PATH; load Slurm's module, or submit from a login node of the cluster");
    const auto answer = run_and_capture(
        {.argv = {"sbatch", "--parsable"}, .environment = environment, .input = script}, submit_limit);
    if (!answer.status.success())
        throw UsageError(fmt::format("sbatch refuses the job: {}", refused(answer)));
    return split(trimmed(answer.out), ';').front();  // "12;cluster"
}

/// Uses a file, since not every qsub reads a script from stdin, and some name the job's output after the
/// file.
std::string submit_to_pbs(const std::string& script, const std::string& name,
                          const Environment& environment) {
    if (!find_in_path("qsub", environment))
        throw UsageError("qsub is not in PATH; load PBS' module, or submit from a login node of the cluster");
    const TemporaryFolder folder;
    const auto file = folder.path() + "/" + name;
    replace_file_without_sync(file, script, 0700);
    const auto answer = run_and_capture({.argv = {"qsub", file}, .environment = environment}, submit_limit);
    const auto number = std::string(trimmed(answer.out));  // "12.server"
    if (!answer.status.success() || number.empty() || number.find_first_of(" \n") != std::string::npos)
        throw UsageError(fmt::format("qsub refuses the job: {}", refused(answer)));
    return number;
}

/// Records the job for dtrain-launch status, until its launcher does so.
void remember(Scheduler scheduler, const std::string& number, const Options& options,
              const Environment& environment) {
    const auto folder = records_folder(environment);
    if (!folder) return;
    JobRecord record;
    record.job = options.job_id == Options().job_id ? number : options.job_id;
    record.scheduler = to_string(scheduler);
    record.scheduler_job = number;
    record.program = options.script;
    record.log_dir = std::filesystem::absolute(log_dir_of_job(number, options)).lexically_normal().string();
    record.begin_us = cluster::now_us();
    try {
        write_record(*folder, record);
    } catch (const std::exception& error) {
        log_warning("dtrain-launch status will not show the job before it starts: {}", error.what());
    }
}

}  // namespace

void refuse_submit_options(const ParsedOptions& parsed) {
    for (const auto& [name, origin] : parsed.origins) {
        const auto* row = find_option(name);
        if (origin == "command line" && row != nullptr && row->group == OptionGroup::submit)
            throw UsageError(
                fmt::format("--{} is for dtrain-launch submit; without it nothing waits in a queue", name));
    }
}

int run_submit(const std::vector<std::string>& arguments, const Environment& environment) {
    const auto parsed = parse_options(arguments, environment, read_settings(settings_files(environment)));
    if (parsed.text) {
        write_all(STDOUT_FILENO, *parsed.text);
        return 0;
    }
    ::signal(SIGPIPE, SIG_IGN);  // sbatch may end before it has read the script
    begin_log(parsed);

    const auto& options = parsed.options;
    refuse_missing_script(options, environment);
    auto job = options_of_job(parsed);
    job.push_back(options.script);
    job.insert(job.end(), options.script_arguments.begin(), options.script_arguments.end());
    const auto launcher = this_executable().string();
    const auto choice = choose_scheduler(options.scheduler, find_in_path("sbatch", environment).has_value(),
                                         find_in_path("qsub", environment).has_value());
    if (!choice.notice.empty()) log_info("{}", choice.notice);
    const bool to_slurm = choice.scheduler == Scheduler::slurm;
    const auto script_for = to_slurm ? slurm_script : pbs_script;
    if (!options.dry_run.empty()) {
        write_all(STDOUT_FILENO, script_for(options, launcher, redacted_arguments(job)));
        return 0;
    }
    const auto script = script_for(options, launcher, job);
    const auto number = to_slurm ? submit_to_slurm(script, environment)
                                 : submit_to_pbs(script, name_in_pbs(options), environment);
    remember(choice.scheduler, number, options, environment);
    write_all(STDOUT_FILENO, how_to_follow(choice.scheduler, number, options));
    return 0;
}

}  // namespace dtrain::launch
