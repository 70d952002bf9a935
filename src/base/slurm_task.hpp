// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/environment.hpp>

namespace dtrain {

/// Whether srun started this process. The shell of a batch script has SLURM_PROCID=0 and SLURM_NTASKS=<all>
/// too, but no SLURM_STEP_ID; a command typed there is a job of its own, not rank 0 of many that never come.
/// Numbers from 0xfffffff0 on are Slurm's names for steps that are no srun: batch script, interactive shell
/// of salloc.
bool is_slurm_task(const Environment& environment);

}  // namespace dtrain
