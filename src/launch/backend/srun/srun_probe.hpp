// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/environment.hpp>

#include "scheduler/allocation.hpp"

namespace dtrain::launch {

/// Info that only Slurm's own commands provide.
struct SrunSite {
    bool pmix = false;  ///< MPI programs get their ranks through --mpi=pmix
};

/// Queries srun's MPI plugins and, if no variable has them (salloc), the GPUs of the job's nodes.
SrunSite ask_slurm(scheduler::Allocation& allocation, const Environment& environment);

}  // namespace dtrain::launch
