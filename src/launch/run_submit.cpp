// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/run_submit.hpp"

#include <csignal>
#include <unistd.h>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <dtrain/error.hpp>

#include "base/files.hpp"
#include "base/log.hpp"
#include "base/redact.hpp"
#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "launch/batch_script.hpp"
#include "launch/option_table.hpp"
#include "launch/program.hpp"
#include "launch/settings.hpp"

namespace dtrain::launch {
namespace {

/// A mistake in a name shall not show after hours in a queue.
void refuse_missing_script(const Options& options, const Environment& environment) {
    program_for(options.script, options.script_arguments, "", real_files(environment));
}

/// The number of the new job.
std::string submit(const std::string& script, const Environment& environment) {
    if (!find_in_path("sbatch", environment))
        throw UsageError(
            "sbatch is not in PATH; load Slurm's module, or submit from a login node of the cluster");
    const auto answer =
        run_and_capture({.argv = {"sbatch", "--parsable"}, .environment = environment, .input = script},
                        std::chrono::minutes(1));
    if (!answer.status.success())
        throw UsageError(fmt::format("sbatch refuses the job: {}", one_line(trimmed(answer.err))));
    return split(trimmed(answer.out), ';').front();  // "12;cluster"
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
    set_up_log("dtrain-launch");
    set_log_level(parsed.options.log_level);
    for (const auto& notice : parsed.notices) spdlog::warn("{}", notice);

    const auto& options = parsed.options;
    refuse_missing_script(options, environment);
    auto job = options_of_job(parsed);
    job.push_back(options.script);
    job.insert(job.end(), options.script_arguments.begin(), options.script_arguments.end());
    const auto launcher = this_executable().string();
    if (!options.dry_run.empty()) {
        write_all(STDOUT_FILENO, slurm_script(options, launcher, redacted_arguments(job)));
        return 0;
    }
    const auto number = submit(slurm_script(options, launcher, job), environment);
    write_all(STDOUT_FILENO, how_to_follow(number, options));
    return 0;
}

}  // namespace dtrain::launch
