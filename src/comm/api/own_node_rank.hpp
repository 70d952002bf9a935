// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <dtrain/environment.hpp>

namespace dtrain::comm {

/// This process' local rank, for code without a communicator: 0 if it was not started by a launcher; none if
/// it was and mpi_world() has not been called yet.
std::optional<int> own_node_rank(const Environment& environment);

/// Called by mpi_world().
void note_own_node_rank(int rank);

}  // namespace dtrain::comm
