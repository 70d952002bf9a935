// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/node/peers.hpp"

#include "comm/mpi/mpi_error.hpp"

namespace dtrain::comm {

MpiPeers::MpiPeers(MPI_Comm node) : node_(node) {
    check(MPI_Comm_rank(node, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(node, &size_), "MPI_Comm_size");
}

void MpiPeers::exchange(std::span<const std::byte> mine, std::span<std::byte> all) const {
    const int bytes = static_cast<int>(mine.size());
    check(MPI_Allgather(mine.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, node_), "MPI_Allgather");
}

}  // namespace dtrain::comm
