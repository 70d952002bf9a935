// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/environment.hpp>

#include "launch/plan/plan.hpp"

/// The srun launch backend: turns a plan into a command line and an environment. Pure.
namespace dtrain::launch {

/// Whether the output of `srun --mpi=list` names pmix, which MPI programs need.
bool offers_pmix(std::string_view srun_mpi_list);

struct SrunCall {
    std::string hostfile;   ///< path of the written hostfile, see srun_hostfile()
    std::string worker;     ///< path of dtrain-worker
    std::string step_name;  ///< by which the step is found if srun is gone
    bool pmix = false;      ///< whether the cluster supports it
};

/// argv of the srun that runs `worker -- program` on every rank of the plan, as one step of the allocation.
///
/// Each rank runs on the node of its line in the hostfile ("arbitrary"), whatever the plan's order; roles
/// follow from ranks, so one command serves all. All ranks of a node see all of its GPUs; the workers decide
/// which rank uses which GPUs and processors. Ranks end at different times, and none exits with a failure
/// before it is told to leave: a task that fails earlier was killed, and srun then ends the others.
std::vector<std::string> srun_command(const Plan& plan, const SrunCall& call, const Options& options);

/// The host of every rank, one per line.
std::string srun_hostfile(const Plan& plan);

/// `environment` without the variables that would change srun's command: the counts, bindings and output
/// modes that sbatch and salloc set.
Environment srun_environment(Environment environment);

}  // namespace dtrain::launch
