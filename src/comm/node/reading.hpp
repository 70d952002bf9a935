// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/mpi/operation_queue.hpp"
#include "comm/node/reduce_loops.hpp"
#include "comm/node/staged.hpp"

namespace dtrain::comm {

// Long operations between the ranks of a node whose buffers are not in shared memory: each rank reads what it
// needs from the buffers that the others have announced (OtherMemory), without a copy in between. All ranks
// of the node make the same call. At its end all have read what they need from this rank.

/// Fills `to` from byte `first` of the buffer that the node's rank `rank` has announced. @throws MemoryGone
void read_announced(const OperationQueue& queue, int rank, std::uint64_t number, std::size_t first,
                    std::span<std::byte> to);

/// Reduces `bytes` of every rank's buffer, in place on all of them, in rank order: each rank writes its shard
/// of the result into all buffers. Waits for the end of the operation if others have given it up.
Task reduce_by_reading(OperationQueue& queue, std::byte* buffer, std::size_t bytes, std::uint64_t number,
                       ReduceLoop loop);

/// Reduces a segment of what all ranks give into `to`, in rank order. `reduced` may be null.
/// @param own this rank's part of it
Task reduce_segment_by_reading(OperationQueue& queue, const std::byte* own, Segment segment, std::byte* to,
                               std::uint64_t number, ReduceLoop loop, UseShard reduced);

/// Takes segment `from[i]` of what the node's rank i gives to `to[i]`.
/// @param own this rank's segment
Task take_by_reading(OperationQueue& queue, const std::byte* own, std::vector<Segment> from,
                     std::vector<std::byte*> to, std::uint64_t number);

}  // namespace dtrain::comm
