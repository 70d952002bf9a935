// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "trace/rank_state.hpp"

/// Who waits for whom. Pure.
namespace dtrain::trace {

/// For what its own GPU computes before an operation, and not for other ranks.
bool waits_for_own_gpu(const RankState& state);
std::vector<RankState> without_waits_for_own_gpu(std::vector<RankState> states);

/// A rank that waits in an operation.
struct BlockedRank {
    int rank = 0;
    Operation operation = {};
    /// Ranks without which it cannot go on: a collective's that have not called it, a message's other rank.
    /// Empty: all have come, or they are not known.
    std::vector<int> waits_for = {};
};

/// What a rank waits for.
enum class WaitsFor {
    waited,  ///< an operation that a thread waits in
    begun,   ///< an operation that goes on: the program polls
    called,  ///< a call that its stack shows, and that it has not recorded, though it has recorded others
};

/// The operation in which a rank waits the longest, as its log has it or, without one, its stack.
std::optional<Operation> blocking_operation(const RankState& state, WaitsFor what = WaitsFor::waited);

/// @param states of all ranks of the job; of those that have ended, too
std::vector<BlockedRank> blocked_ranks(const std::vector<RankState>& states,
                                       WaitsFor what = WaitsFor::waited);

/// Those that others wait for, directly or not, and that do not wait themselves: most awaited first.
std::vector<int> awaited_by_all(const std::vector<BlockedRank>& blocked);

/// Ranks that wait for each other in a circle, in its order: each waits for the next one, the last one for
/// the first. Empty: there is none.
std::vector<int> circle_of(const std::vector<BlockedRank>& blocked);

}  // namespace dtrain::trace
