// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/cluster.hpp>

namespace dtrain::cluster {

/// What Slurm gave to a job, as a batch script or the shell of salloc sees it.
struct SlurmAllocation {
    std::string job_id;
    std::vector<HostSlots> nodes;       ///< in Slurm's order; slots: the tasks that srun would start there
    bool tasks_were_asked_for = false;  ///< by --ntasks or --ntasks-per-node
    std::optional<int> gpus_of_node;    ///< when a variable tells
    std::string scheduler = "Slurm";
    friend bool operator==(const SlurmAllocation&, const SlurmAllocation&) = default;
};

/// Nothing outside of an allocation, and nothing in a task that srun started: that one is one of many alike.
/// @throws UsageError naming the variable that does not fit the others
std::optional<SlurmAllocation> slurm_allocation(const Environment& environment);

/// The least number of GPUs that one of the job's nodes has, out of what `scontrol show job --details`
/// prints.
int gpus_of_node(std::string_view scontrol_output);

}  // namespace dtrain::cluster
