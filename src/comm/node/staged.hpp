// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

#include "comm/mpi/operation_queue.hpp"
#include "comm/node/reduce_loops.hpp"

namespace dtrain::comm {

/// A range of bytes of a buffer.
struct Segment {
    std::size_t first = 0;
    std::size_t bytes = 0;
};

/// Consecutive ranges of the given lengths.
inline std::vector<Segment> segments_of(const std::vector<std::size_t>& lengths) {
    std::vector<Segment> segments;
    std::size_t first = 0;
    for (const auto length : lengths) {
        segments.push_back({first, length});
        first += length;
    }
    return segments;
}

/// Rank `rank`'s shard of a buffer that is divided among `ranks` ranks: whole cache lines except for the last
/// one.
inline Segment shard_of(std::size_t bytes, int rank, int ranks) {
    constexpr std::size_t line = 64;
    const auto each = (bytes / static_cast<std::size_t>(ranks) + line) / line * line;
    const auto first = std::min(bytes, each * static_cast<std::size_t>(rank));
    return {first, std::min(each, bytes - first)};
}

// Long operations between the ranks of a node whose buffers are not in shared memory: the data are passed
// through the pieces of the board, one piece after the other. All ranks of the node make the same call with
// the same lengths.

/// Reduces `bytes` of every rank's buffer, in place on all of them, in rank order.
Task reduce_in_pieces(OperationQueue& queue, std::byte* buffer, std::size_t bytes, ReduceLoop loop);

/// Receives one piece: `from[i]` is from the node's rank i and belongs to [first, first + bytes) of what that
/// rank sends to this one.
using Arrived =
    std::function<void(const std::vector<const std::byte*>& from, std::size_t first, std::size_t bytes)>;

/// Every rank sends segment i of `buffer` to the node's rank i; `max` is the length of the longest segment of
/// all ranks. `arrived` is called for all of [0, max): bytes beyond a segment are undefined.
Task exchange_in_pieces(OperationQueue& queue, const std::byte* buffer, std::vector<Segment> segments,
                        std::size_t max, Arrived arrived);

/// Every rank sends the same `bytes` to all; with `root` >= 0 only the node's rank `root` does.
Task show_in_pieces(OperationQueue& queue, const std::byte* buffer, std::size_t bytes, int root,
                    Arrived arrived);

}  // namespace dtrain::comm
