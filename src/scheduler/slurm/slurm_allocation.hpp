// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include <dtrain/environment.hpp>

#include "scheduler/allocation.hpp"

namespace dtrain::scheduler {

/// What Slurm allocated to a job, as seen by a batch script or the shell of salloc. Nothing outside of an
/// allocation, and nothing in a task that srun started, which is one of many alike.
/// @throws UsageError naming the variable that does not match the others
std::optional<Allocation> slurm_allocation(const Environment& environment);

/// The smallest number of GPUs on any of the job's nodes, from the output of `scontrol show job --details`.
int gpus_of_node(std::string_view scontrol_output);

}  // namespace dtrain::scheduler
