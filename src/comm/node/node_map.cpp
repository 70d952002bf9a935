// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/node/node_map.hpp"

#include <algorithm>
#include <sched.h>

#include "comm/mpi/mpi_error.hpp"
#include "comm/node/peers.hpp"
#include "comm/node/window.hpp"

namespace dtrain::comm {

NodeMap make_node_map(const std::vector<int>& lowest_on_node, int rank) {
    NodeMap map;
    std::vector<int> lowest = lowest_on_node;
    std::sort(lowest.begin(), lowest.end());
    lowest.erase(std::unique(lowest.begin(), lowest.end()), lowest.end());
    map.ranks_of.resize(lowest.size());
    for (const int of_rank : lowest_on_node) {
        const auto node = std::lower_bound(lowest.begin(), lowest.end(), of_rank) - lowest.begin();
        map.ranks_of[static_cast<std::size_t>(node)].push_back(static_cast<int>(map.node_of.size()));
        map.node_of.push_back(static_cast<int>(node));
    }
    map.node = map.node_of[static_cast<std::size_t>(rank)];
    const auto& own = map.neighbours();
    map.node_rank = static_cast<int>(std::find(own.begin(), own.end(), rank) - own.begin());
    return map;
}

MPI_Comm split_by_node(MPI_Comm communicator, int ranks_per_node) {
    int rank = 0;
    check(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
    MPI_Comm node = MPI_COMM_NULL;
    check(MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node),
          "MPI_Comm_split_type");
    if (ranks_per_node > 0) {
        int on_node = 0;
        check(MPI_Comm_rank(node, &on_node), "MPI_Comm_rank");
        const int world_rank = world_ranks(node)[static_cast<std::size_t>(on_node)];
        MPI_Comm part = MPI_COMM_NULL;
        check(MPI_Comm_split(node, world_rank / ranks_per_node, rank, &part), "MPI_Comm_split");
        MPI_Comm_free(&node);
        node = part;
    }
    check(MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    return node;
}

NodeMap map_nodes(MPI_Comm communicator, MPI_Comm node) {
    int rank = 0;
    int size = 0;
    check(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
    check(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
    int lowest = rank;
    check(MPI_Bcast(&lowest, 1, MPI_INT, 0, node), "MPI_Bcast");
    std::vector<int> all(static_cast<std::size_t>(size));
    check(MPI_Allgather(&lowest, 1, MPI_INT, all.data(), 1, MPI_INT, communicator), "MPI_Allgather");
    return make_node_map(all, rank);
}

bool is_crowded(const Peers& node) {
    struct Usable {
        cpu_set_t processors;
        bool is_known = false;
    };
    Usable own;
    CPU_ZERO(&own.processors);
    own.is_known = ::sched_getaffinity(0, sizeof(own.processors), &own.processors) == 0;
    // Machines with more processors than the set has room for do not count as crowded.
    bool is_known = true;
    cpu_set_t all;
    CPU_ZERO(&all);
    for (const auto& usable : node.all_gather(own)) {
        CPU_OR(&all, &all, &usable.processors);
        is_known = is_known && usable.is_known;
    }
    return is_known && CPU_COUNT(&all) < node.size();
}

}  // namespace dtrain::comm
