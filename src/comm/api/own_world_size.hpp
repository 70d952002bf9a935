// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/communicator.hpp>
#include <dtrain/environment.hpp>

namespace dtrain::comm {

/// Number of ranks of the job, for code without a communicator: those of mpi_world(), or as many as the
/// launcher reports. 1: this process alone.
int own_world_size(const Environment& environment);

/// Called by mpi_world().
void note_own_world_size(int ranks);

/// Whether it is a default-constructed communicator, which never calls MPI.
bool is_default(const Communicator& communicator);

}  // namespace dtrain::comm
