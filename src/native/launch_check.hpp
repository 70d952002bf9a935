// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <dtrain/cluster.hpp>
#include <dtrain/environment.hpp>

namespace dtrain::native {

/// Why MPI_Init cannot succeed here, with the remedy, or nothing. Detects a Slurm step of several tasks
/// without PMIx, in which Open MPI ends the process with a message about how it was built. Pure.
std::optional<std::string> why_mpi_cannot_start(const cluster::Identity& announced,
                                                const Environment& environment, bool is_open_mpi);

/// True in a Slurm step of one task without PMIx (`srun --pty bash`): there Open MPI runs as a world of size
/// one, but only if it does not see the step.
bool must_hide_slurm_step(const cluster::Identity& announced, const Environment& environment,
                          bool is_open_mpi);

/// For the environment of a process that no launcher serves, unless the user has set them; else none. Open
/// MPI 4.1 would start a daemon then, for MPI_Comm_spawn, which no native job calls. That takes 0.1 s, and
/// the daemon stays for ever where this process is killed meanwhile. Without the daemon it has no session
/// folder either, as all processes of a user on a node would have the same. Pure.
Environment variables_without_daemon(const cluster::Identity& announced, const Environment& environment,
                                     bool is_open_mpi);

/// The issue, with the remedy, if MPI's world differs from the one that the launcher announced, else nothing.
/// Otherwise every rank would train alone. Pure.
/// @param library the MPI library of this program, for people
std::optional<std::string> world_mismatch(const cluster::Identity& announced, int world_size,
                                          const std::string& library);

}  // namespace dtrain::native
