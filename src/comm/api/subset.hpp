// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <mpi.h>

#include "comm/mpi/operation_queue.hpp"

namespace dtrain::comm {

/// @param what the call that lists them, for the message
/// @throws UsageError if the list has something but 0 to size - 1, or a rank twice
void check_listed(std::string_view what, std::span<const int> ranks, int size);

/// @throws UsageError if the list is none of ranks 0 to size - 1 that has `rank`, or one of them twice
void check_subset(std::span<const int> ranks, int rank, int size);

/// What a rank tells the first one of its list.
struct SubsetPlan {
    std::int64_t tag = 0;
    std::int64_t count = 0;
    std::uint64_t hash = 0;
    friend bool operator==(const SubsetPlan&, const SubsetPlan&) = default;
};
SubsetPlan subset_plan(std::span<const int> ranks, int tag);

/// The first rank of the list whose plan is not that of the list's first rank; no_rank: there is none. Pure.
/// @param plans by position in the list
int differing_rank(std::span<const int> ranks, std::span<const SubsetPlan> plans);
inline constexpr int no_rank = -1;

/// @throws Error unless `differing` is no_rank
void check_same_plan(int differing, std::span<const int> ranks, int tag);

/// Returns when all listed ranks have called it: what MPI does afterwards has no deadline. Collective over
/// them. @throws CommunicatorTimeout; Error on all of them if their lists or tags differ
void meet(OperationQueue& queue, std::span<const int> ranks, int tag);

/// A communicator of the listed ranks, in that order, which the caller frees. Collective over them.
MPI_Comm communicator_of(MPI_Comm parent, std::span<const int> ranks, int tag);

}  // namespace dtrain::comm
