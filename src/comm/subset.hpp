// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include <mpi.h>

#include "comm/operation_queue.hpp"

namespace dtrain::comm {

/// @throws UsageError if the list is none of ranks 0 to size - 1 that has `rank`, or one of them twice
void check_subset(std::span<const int> ranks, int rank, int size);

/// Messages of a few bytes between listed ranks. Their memory stays until wait() returns, or throws.
class MeetingMessages {
  public:
    virtual ~MeetingMessages() = default;
    virtual void send(std::span<const std::byte> value, int to) = 0;
    virtual void receive(std::span<std::byte> value, int from) = 0;
    /// Until all are complete. @throws CommunicatorTimeout
    virtual void wait() = 0;
};

/// Returns when all listed ranks have called it. Collective over them. @param rank this one
/// @throws CommunicatorTimeout; Error on all of them if their lists or tags differ
void meet(MeetingMessages& messages, std::span<const int> ranks, int rank, int tag);

/// The same by MPI: what it does afterwards has no deadline
void meet(OperationQueue& queue, std::span<const int> ranks, int tag);

/// A communicator of the listed ranks, in that order, which the caller frees. Collective over them.
MPI_Comm communicator_of(MPI_Comm parent, std::span<const int> ranks, int tag);

}  // namespace dtrain::comm
