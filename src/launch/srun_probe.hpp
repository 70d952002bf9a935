// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/environment.hpp>

#include "cluster/allocation.hpp"

namespace dtrain::launch {

/// What only Slurm's own commands tell.
struct SrunSite {
    bool pmix = false;  ///< MPI programs find their ranks through --mpi=pmix
};

/// Asks srun for its MPI plugins and, where no variable told (salloc), for the GPUs of the job's nodes.
SrunSite ask_slurm(cluster::Allocation& allocation, const Environment& environment);

}  // namespace dtrain::launch
