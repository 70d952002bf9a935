// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <dtrain/cluster.hpp>
#include <dtrain/environment.hpp>

namespace dtrain::native {

/// Why MPI_Init cannot succeed here, with the cure, or nothing: a Slurm step of several tasks without PMIx,
/// where Open MPI ends the process with a message about how it was built. Pure.
std::optional<std::string> why_mpi_cannot_start(const cluster::Identity& announced,
                                                const Environment& environment, bool is_open_mpi);

/// True in a Slurm step of one task without PMIx (`srun --pty bash`): Open MPI runs there as a world of one,
/// but only when it does not see the step.
bool must_hide_slurm_step(const cluster::Identity& announced, const Environment& environment,
                          bool is_open_mpi);

/// What is wrong, with the cure, when MPI's world is not the one that the launcher announced, or nothing.
/// Every rank would train alone otherwise. Pure.
/// @param library the MPI that this program runs with, for people
std::optional<std::string> world_mismatch(const cluster::Identity& announced, int world_size,
                                          const std::string& library);

}  // namespace dtrain::native
