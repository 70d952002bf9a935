// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "comm/operation_name.hpp"
#include "comm/operation_queue.hpp"

namespace dtrain::comm {

/// Whether this rank says for its node which way such a sum is made, when the buffers are not in a window.
bool chooses_way(const OperationQueue& queue, const Call& call);

/// Tells the ranks of the node about an operation, and puts short data into a slot. To be followed by a wait
/// for `come` and agree().
void announce(OperationQueue& queue, const Call& call, std::uint64_t number);

/// What all ranks of the node find out together from their announcements.
struct Agreement {
    Way way = Way::pieces;           ///< of a long sum; reads: of the buffers that were announced
    bool is_short = false;           ///< everybody's data are in slots
    const Window* window = nullptr;  ///< has all ranks' buffers, each at `offset` of its part
    std::optional<std::size_t> offset;
};
/// @throws Error on all ranks of the node when they mean different operations
Agreement agree(const OperationQueue& queue, const Call& call, std::uint64_t number);

/// all_to_allv: the longest block that any rank of the node sends.
std::size_t max_announced(const OperationQueue& queue, std::uint64_t number);

}  // namespace dtrain::comm
