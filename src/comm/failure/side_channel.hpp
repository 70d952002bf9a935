// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <mpi.h>

#include <dtrain/comm_error.hpp>

#include "comm/node/node_board.hpp"

namespace dtrain::comm {

struct NodeMap;

/// Lets ranks that have passed their deadline find out which ranks are missing. On a node they read the
/// board, which needs no cooperation. Between nodes, one of the waiting ranks of each node sends the contents
/// of its board to all ranks of the other nodes, over a separate communicator on which waiting ranks listen.
class SideChannel {
  public:
    /// Collective over `parent` if there are several nodes.
    SideChannel(MPI_Comm parent, const NodeMap& map);
    SideChannel(const SideChannel&) = delete;
    SideChannel& operator=(const SideChannel&) = delete;
    ~SideChannel();

    /// Receives what ranks of other nodes have sent; true once there has been any message.
    bool hears_alarm();

    /// Raises the alarm and determines which ranks are missing from this operation; takes a second or two
    /// with several nodes.
    std::vector<MissingRank> missing(const NodeMap& map, const NodeBoard& board, std::uint64_t number);

    /// State of a waiting rank, preferably one in the operation for which the alarm was raised: tells a rank
    /// that comes too late what it has missed.
    std::optional<NodeBoard::Whereabouts> who_waits(const NodeBoard& board) const;

    /// Codes of the ranks that have reported a failure (NodeBoard::note_failure), as known at the last call
    /// of missing().
    std::map<int, std::uint64_t> failures(const NodeMap& map) const;

  private:
    using Boards = std::map<int, std::vector<std::uint64_t>>;  // by node: the numbers of its ranks
    void send(const NodeMap& map, const std::vector<std::uint64_t>& board) const;

    MPI_Comm communicator_ = MPI_COMM_NULL;
    Boards heard_;
};

/// Describes where a rank is that has not entered this operation, or does not progress in it.
std::string why_missing(const NodeBoard::Whereabouts& rank, std::uint64_t number);

}  // namespace dtrain::comm
