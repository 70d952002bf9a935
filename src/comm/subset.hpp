// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include <mpi.h>

#include "comm/operation_queue.hpp"

namespace dtrain::comm {

/// @throws UsageError if the list is none of ranks 0 to size - 1 that has `rank`, or one of them twice
void check_subset(std::span<const int> ranks, int rank, int size);

/// Returns when all listed ranks have called it: what MPI does afterwards has no deadline. Collective over
/// them. @throws CommunicatorTimeout; Error on all of them if their lists or tags differ
void meet(OperationQueue& queue, std::span<const int> ranks, int tag);

/// A communicator of the listed ranks, in that order, which the caller frees. Collective over them.
MPI_Comm communicator_of(MPI_Comm parent, std::span<const int> ranks, int tag);

}  // namespace dtrain::comm
