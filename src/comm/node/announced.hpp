// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "comm/api/operation_name.hpp"
#include "comm/mpi/operation_queue.hpp"

namespace dtrain::comm {

/// Whether this rank chooses for its node how such an operation is done, if the buffers are not in a window.
bool chooses_way(const OperationQueue& queue, const Call& call);

/// all_to_allv: where in its announced buffer the node's rank `rank` has what it gives to the node's rank
/// `to`.
std::size_t offset_given(const OperationQueue& queue, std::uint64_t number, int rank, int to);

/// Announces an operation to the ranks of the node, and copies short data into a slot. Must be followed by a
/// wait for `come` and agree().
void announce(OperationQueue& queue, const Call& call, std::uint64_t number);

/// The same for an operation in which the ranks of the node read each other's buffers in any case.
void announce_memory(OperationQueue& queue, const Call& call, std::uint64_t number);

/// What all ranks of the node derive from their announcements.
struct Agreement {
    Way way = Way::pieces;           ///< for a long operation; reads: of the announced buffers
    bool is_short = false;           ///< all ranks' data are in slots
    const Window* window = nullptr;  ///< contains all ranks' buffers, each at `offset` of its part
    std::optional<std::size_t> offset;
};
/// @throws Error on all ranks of the node if they announced different operations
Agreement agree(const OperationQueue& queue, const Call& call, std::uint64_t number);

/// all_to_allv: the longest block that any rank of the node sends.
std::size_t max_announced(const OperationQueue& queue, std::uint64_t number);

}  // namespace dtrain::comm
