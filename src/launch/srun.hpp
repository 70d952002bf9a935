// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/environment.hpp>

#include "launch/plan.hpp"

/// The srun back end: a plan as a command line and an environment. Pure.
namespace dtrain::launch {

/// What `srun --mpi=list` printed names pmix, which MPI programs need.
bool offers_pmix(std::string_view srun_mpi_list);

struct SrunCall {
    std::string hostfile;   ///< path of the written srun_hostfile
    std::string worker;     ///< path of dtrain-worker
    std::string step_name;  ///< by which the step is found when srun is gone
    bool pmix = false;      ///< the cluster has it
};

/// argv of the srun that runs `worker -- program` on every rank of the plan, as one step of the allocation.
///
/// Each rank stands on the node of its line in the hostfile ("arbitrary"), whatever the plan's order; roles
/// follow from ranks, so that one command serves all. All ranks of a node see its GPUs; who uses which, and
/// who runs on which processors, the workers settle. Ranks end at different times, and none fails before it
/// is told to leave: a task that ends badly was killed, and srun then ends the others.
std::vector<std::string> srun_command(const Plan& plan, const SrunCall& call, const Options& options);

/// The host of every rank, line by line.
std::string srun_hostfile(const Plan& plan);

/// `environment` without what would change srun's command from outside: the counts, bindings and output modes
/// that sbatch and salloc hand down.
Environment srun_environment(Environment environment);

/// worker_environment for ranks under srun: they listen to lines on stdin, and get positions among the GPUs
/// that Slurm shows them instead of GPUs and processors of a machine that the launcher sees.
Environment srun_worker_environment(const Plan& plan, const Options& options, const std::string& token,
                                    bool as_root);

}  // namespace dtrain::launch
