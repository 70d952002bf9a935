// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include <dtrain/environment.hpp>

#include "cluster/allocation.hpp"

namespace dtrain::cluster {

/// What Slurm gave to a job, as a batch script or the shell of salloc sees it. Nothing outside of an
/// allocation, and nothing in a task that srun started: that one is one of many alike.
/// @throws UsageError naming the variable that does not fit the others
std::optional<Allocation> slurm_allocation(const Environment& environment);

/// The least number of GPUs that one of the job's nodes has, out of what `scontrol show job --details`
/// prints.
int gpus_of_node(std::string_view scontrol_output);

/// The job of which this process is a task: srun started it.
std::optional<std::string> slurm_job_of_task(const Environment& environment);

}  // namespace dtrain::cluster
