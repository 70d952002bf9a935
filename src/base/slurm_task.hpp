// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/environment.hpp>

namespace dtrain {

/// Whether srun started this process. The shell of a batch script also has SLURM_PROCID=0 and
/// SLURM_NTASKS=<all>, but no SLURM_STEP_ID; a command started there is its own job, not rank 0 of many that
/// never start. Numbers from 0xfffffff0 on are Slurm's ids of steps not started by srun: batch script,
/// interactive shell of salloc.
bool is_slurm_task(const Environment& environment);

}  // namespace dtrain
