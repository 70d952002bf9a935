// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <dtrain/environment.hpp>

namespace dtrain::comm {

/// This process' number among the ranks of its node, for who is given no communicator: 0 when no launcher
/// started it, nothing when one did and nobody has called mpi_world() yet.
std::optional<int> own_node_rank(const Environment& environment);

/// By mpi_world().
void note_own_node_rank(int rank);

}  // namespace dtrain::comm
