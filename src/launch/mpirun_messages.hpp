// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

/// Parses mpirun's messages. Pure; Open MPI 4.1 and 5.0.
namespace dtrain::launch {

/// The rank that died by itself, if a message names one ("process rank 1 with PID 77 on node a exited on
/// signal 9").
std::optional<int> rank_named_by_mpirun(const std::string& mpirun_text);

/// The rank that ended before MPI_Init or without MPI_Finalize while others were inside MPI, so that mpirun
/// ended all ranks ("process rank 0 with PID 0 on node a exiting improperly").
std::optional<int> rank_that_left_mpi(const std::string& mpirun_text);

/// The node whose daemon mpirun lost, named as in the hostfile.
std::optional<std::string> node_lost_by_mpirun(const std::string& mpirun_text);

/// Why a node could not be reached at the start of the job, as reported by the remote shell.
std::optional<std::string> start_refused_by_shell(const std::string& mpirun_text);

}  // namespace dtrain::launch
