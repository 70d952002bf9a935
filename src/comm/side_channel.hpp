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

#include "comm/node_board.hpp"

namespace dtrain::comm {

struct NodeMap;

/// How ranks that wait in vain find out for whom. On a node they read the board, for which nobody's help is
/// needed. Between nodes one of the ranks that wait on each node sends what its board says to all ranks of
/// the other nodes, over a communicator of its own; ranks that wait listen there.
class SideChannel {
  public:
    /// Collective over `parent` when there are several nodes.
    SideChannel(MPI_Comm parent, const NodeMap& map);
    SideChannel(const SideChannel&) = delete;
    SideChannel& operator=(const SideChannel&) = delete;
    ~SideChannel();

    /// Takes in what ranks of other nodes have sent; true when there has ever been something.
    bool hears_alarm();

    /// Raises the alarm and asks who is missing from this operation, for a second or two when there are
    /// several nodes.
    std::vector<MissingRank> missing(const NodeMap& map, const NodeBoard& board, std::uint64_t number);

    /// A rank that waits, for what the alarm was raised if one is known to do so: what a rank that comes too
    /// late has missed.
    std::optional<NodeBoard::Whereabouts> who_waits(const NodeBoard& board) const;

    /// Codes of the ranks that said that they have failed (NodeBoard::note_failure), as far as it was known
    /// when missing() was asked last.
    std::map<int, std::uint64_t> failures(const NodeMap& map) const;

  private:
    using Boards = std::map<int, std::vector<std::uint64_t>>;  // by node: numbers of its ranks
    void tell(const NodeMap& map, const std::vector<std::uint64_t>& board) const;

    MPI_Comm communicator_ = MPI_COMM_NULL;
    Boards heard_;
};

/// Where a rank is that has not come to this operation, or does not go on in it.
std::string why_missing(const NodeBoard::Whereabouts& rank, std::uint64_t number);

}  // namespace dtrain::comm
