// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <mpi.h>

namespace dtrain::comm {

class Peers;

/// The nodes of a communicator's ranks.
struct NodeMap {
    std::vector<int> node_of;                ///< by rank
    std::vector<std::vector<int>> ranks_of;  ///< by node, in order
    int node = 0;                            ///< of this rank
    int node_rank = 0;                       ///< local rank of this rank

    int nodes() const { return static_cast<int>(ranks_of.size()); }
    const std::vector<int>& neighbours() const { return ranks_of[static_cast<std::size_t>(node)]; }
};

/// Derives the map from the lowest rank of each rank's node.
NodeMap make_node_map(const std::vector<int>& lowest_on_node, int rank);

/// A communicator of the ranks that share memory with this one; with `ranks_per_node` > 0, only those among
/// as many consecutive ranks of MPI_COMM_WORLD, so that tests have several nodes on one machine. Collective.
/// Must be freed by the caller.
MPI_Comm split_by_node(MPI_Comm communicator, int ranks_per_node);

/// Collective.
NodeMap map_nodes(MPI_Comm communicator, MPI_Comm node);

/// True if there are fewer usable processors than ranks on the node. Collective over the node.
bool is_crowded(const Peers& node);

}  // namespace dtrain::comm
