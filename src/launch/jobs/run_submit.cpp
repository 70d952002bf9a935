// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/jobs/run_submit.hpp"

#include <csignal>
#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/files.hpp"
#include "base/log.hpp"
#include "base/redact.hpp"
#include "base/subprocess.hpp"
#include "base/wall_clock.hpp"
#include "launch/jobs/job_for_queue.hpp"
#include "launch/jobs/job_record.hpp"
#include "launch/options/begin_log.hpp"
#include "launch/options/option_table.hpp"
#include "launch/options/settings.hpp"
#include "launch/plan/program.hpp"
#include "protocol/event.hpp"

namespace dtrain::launch {
namespace {

/// A misspelled script must not be noticed only after hours in a queue.
void refuse_missing_script(const Options& options, const Environment& environment) {
    program_for(options.script, options.script_arguments, "", real_files(environment));
}

/// Records the job for dtrain-launch status, until its launcher does so.
void remember(const scheduler::Scheduler& scheduler, const std::string& number, const Options& options,
              const Environment& environment) {
    const auto folder = records_folder(environment);
    if (!folder) return;
    JobRecord record;
    record.job = options.job_id == Options().job_id ? number : options.job_id;
    record.scheduler = scheduler.name();
    record.scheduler_job = number;
    record.program = options.script;
    record.log_dir = std::filesystem::absolute(log_dir_of_job(number, options)).lexically_normal().string();
    record.begin_us = now_us();
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
    const auto chosen = scheduler::choose(options.scheduler, scheduler::present(environment));
    if (!chosen.notice.empty()) log_info("{}", chosen.notice);
    const auto& queue = *chosen.scheduler;
    const auto launcher = this_executable().string();
    if (options.dry_run) {
        write_all(STDOUT_FILENO, queue.script(job_request(options, launcher, redacted_arguments(job))));
        return 0;
    }
    const auto request = job_request(options, launcher, std::move(job));
    const auto number = queue.submit(queue.script(request), request, environment);
    remember(queue, number, options, environment);
    write_all(STDOUT_FILENO, how_to_follow(queue, request, number, options));
    return 0;
}

}  // namespace dtrain::launch
