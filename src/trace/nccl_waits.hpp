// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trace/rank_state.hpp"
#include "trace/sequence_fault.hpp"
#include "trace/wait_graph.hpp"

namespace dtrain::trace {

/// A rank that has launched fewer operations in a communicator of NCCL than others.
struct LaggingRank {
    int rank = 0;
    Operation missing = {};  ///< the first that it has not launched
    int launched_by = 0;     ///< how many ranks are known to have launched it; 0: some have
};

/// A rank that has left a communicator of NCCL, which others are in.
struct LeavingRank {
    int rank = 0;
    std::string communicator = {};  ///< as Operation::group has it
    std::vector<int> others = {};
};

/// Who waits for whom by what NCCL's RAS threads tell. Numbers count the operations of a kind in a
/// communicator, from 1 on.
struct NcclWaits {
    std::optional<SequenceFault> fault = {};  ///< a rank has launched another operation than the others
    std::vector<BlockedRank> blocked = {};    ///< have launched what others have not
    std::vector<LaggingRank> lagging = {};    ///< and wait for nobody themselves
    std::vector<LeavingRank> leaving = {};

    bool explains() const { return fault || !blocked.empty() || !lagging.empty(); }
};

/// Pure.
/// @param states of all ranks of the job
NcclWaits nccl_waits(const std::vector<RankState>& states);

/// Ranks whose processes run and that NCCL's RAS threads of other ranks have not reached for long. Pure.
std::vector<int> unreached_by_nccl(const std::vector<RankState>& states);

}  // namespace dtrain::trace
