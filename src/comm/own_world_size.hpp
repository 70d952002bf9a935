// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/communicator.hpp>
#include <dtrain/environment.hpp>

namespace dtrain::comm {

/// Ranks of the job, for who is given no communicator: those of mpi_world(), or as many as a launcher says
/// that it has started. 1: this process alone.
int own_world_size(const Environment& environment);

/// By mpi_world().
void note_own_world_size(int ranks);

/// Whether it is the default one, which never calls MPI.
bool is_default(const Communicator& communicator);

}  // namespace dtrain::comm
