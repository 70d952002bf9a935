// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "scheduler/slurm/slurm.hpp"

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "identity/contracts.hpp"
#include "scheduler/batch_script.hpp"
#include "scheduler/limits.hpp"
#include "scheduler/slurm/slurm_allocation.hpp"

namespace dtrain::scheduler {
namespace {

/// Warns of a heterogeneous job, of which only the component with this script is used.
std::optional<std::string> other_components_warning(const Environment& environment) {
    const int components = parse_int(environment.get_or("SLURM_HET_SIZE", "")).value_or(0);
    const auto used = environment.get("SLURM_JOB_NODELIST");
    if (components < 2 || !used) return std::nullopt;
    std::vector<std::string> others;
    for (int number = 0; number < components; ++number) {
        const auto nodes = environment.get_or(fmt::format("SLURM_JOB_NODELIST_HET_GROUP_{}", number), "");
        if (!nodes.empty() && nodes != *used) others.push_back(nodes);
    }
    return fmt::format(
        "this heterogeneous job has {} components; only {} is used, and {} {} left to other programs. To use "
        "all nodes name them in --ips; they are reached by ssh then",
        components, *used, join(others, ", "), others.size() == 1 ? "is" : "are");
}

}  // namespace

std::string Slurm::job_id(const Environment& environment) const {
    return environment.get_or("SLURM_JOB_ID", "");
}

std::optional<Allocation> Slurm::allocation(const Environment& environment, const ReadFile&) const {
    return slurm_allocation(environment);
}

std::optional<LauncherTask> Slurm::own_task(const Environment& environment) const {
    const auto task = cluster::read_slurm(environment);
    if (!task) return std::nullopt;
    return LauncherTask{.started_by = "srun", .rank = task->rank, .count = task->size, .hosts = task->hosts};
}

std::vector<std::string> Slurm::warnings(const Environment& environment) const {
    const auto warning = other_components_warning(environment);
    return warning ? std::vector{*warning} : std::vector<std::string>{};
}

std::string Slurm::submit(const std::string& script, const JobRequest&,
                          const Environment& environment) const {
    if (!find_in_path("sbatch", environment))
        throw UsageError(
            "sbatch is not in PATH; load Slurm's module, or submit from a login node of the cluster");
    const auto answer = run_and_capture(
        {.argv = {"sbatch", "--parsable"}, .environment = environment, .input = script}, submit_limit);
    if (!answer.status.success())
        throw UsageError(fmt::format("sbatch refuses the job: {}", reason_of(answer)));
    return split(trimmed(answer.out), ';').front();  // "12;cluster"
}

std::string Slurm::output_file(const JobRequest& request, const std::string& number) const {
    return fmt::format("{}-{}.out", name_of_job(request), number);
}

std::vector<std::string> Slurm::cancel_command(const std::string& number, bool gently) const {
    if (gently) return {"scancel", "--batch", "--signal=TERM", number};
    return {"scancel", number};
}

std::vector<std::string> Slurm::command_on_node(const std::string& host, const std::string& number,
                                                const std::vector<std::string>& args) const {
    std::vector<std::string> command{
        "srun",      "--quiet",    "--jobid=" + number, "--overlap",
        "--nodes=1", "--ntasks=1", "--immediate=20",    "--nodelist=" + split(host, '.').front()};
    command.insert(command.end(), args.begin(), args.end());
    return command;
}

}  // namespace dtrain::scheduler
