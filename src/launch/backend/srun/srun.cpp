// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/backend/srun/srun.hpp"

#include <array>

#include <fmt/format.h>

#include "base/text.hpp"
#include "launch/options/worker_options.hpp"

namespace dtrain::launch {
namespace {

/// Input variables of srun that would change this step; explicit options override theirs anyway.
constexpr std::array<const char*, 21> overridden_srun_variables{"SLURM_HOSTFILE",
                                                                "SLURM_NTASKS",
                                                                "SLURM_NPROCS",
                                                                "SLURM_NTASKS_PER_NODE",
                                                                "SLURM_CPUS_PER_TASK",
                                                                "SRUN_CPUS_PER_TASK",
                                                                "SLURM_GPUS",
                                                                "SLURM_GPUS_PER_NODE",
                                                                "SLURM_GPUS_PER_TASK",
                                                                "SLURM_GPUS_PER_SOCKET",
                                                                "SLURM_GPU_BIND",
                                                                "SLURM_TRES_BIND",
                                                                "SLURM_TRES_PER_TASK",
                                                                "SLURM_NTASKS_PER_GPU",
                                                                "SLURM_NTASKS_PER_TRES",
                                                                "SLURM_LABELIO",
                                                                "SLURM_UNBUFFEREDIO",
                                                                "SLURM_STDINMODE",
                                                                "SLURM_STDOUTMODE",
                                                                "SLURM_STDERRMODE",
                                                                "SLURM_EXACT"};

}  // namespace

bool offers_pmix(std::string_view srun_mpi_list) {
    // "MPI plugin types are...\n\tpmix\n\tnone\n"; some versions end the first line with the names.
    for (const auto& line : split(srun_mpi_list, '\n'))
        for (const auto& word : split(line, ' '))
            if (trimmed(word) == "pmix") return true;
    return false;
}

std::vector<std::string> srun_command(const Plan& plan, const SrunCall& call, const Options& options) {
    std::vector<std::string> argv{"srun",
                                  fmt::format("--ntasks={}", plan.size()),
                                  "--distribution=arbitrary",
                                  "--nodelist=" + call.hostfile,
                                  "--overlap",
                                  "--overcommit",
                                  "--cpu-bind=none"};
    if (plan.gpus_of_node > 0) argv.push_back(fmt::format("--gpus-per-node={}", plan.gpus_of_node));
    if (call.pmix) argv.emplace_back("--mpi=pmix");
    append(argv,
           {"--kill-on-bad-exit=1", "--wait=0", "--export=ALL", "--job-name=" + call.step_name, call.worker});
    append(argv, worker_options(plan.log_dir, options));
    argv.emplace_back("--");
    append(argv, plan.program);
    return argv;
}

std::string srun_hostfile(const Plan& plan) {
    std::string out;
    for (const int node : plan.nodes_of_ranks())
        out += plan.nodes[static_cast<std::size_t>(node)].host + "\n";
    return out;
}

Environment srun_environment(Environment environment) {
    for (const char* name : overridden_srun_variables) environment.unset(name);
    return environment;
}

}  // namespace dtrain::launch
