// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "comm/mpi/operation_queue.hpp"
#include "comm/node/reduce_loops.hpp"

namespace dtrain::comm {

/// A collective operation over ranks on several nodes.
Task across_nodes(OperationQueue& queue, Call call, std::uint64_t number);

/// All-reduce among the first ranks of all nodes: up to this length by recursive doubling, whose number of
/// messages grows with the logarithm of the number of nodes; above it by a ring, in which each node sends
/// every byte less than twice. Both add in an order that depends only on the number of nodes and the length.
constexpr std::size_t max_doubled = std::size_t{64} << 10U;

Task reduce_by_doubling(OperationQueue& queue, std::byte* buffer, std::size_t bytes, ReduceLoop loop);
Task reduce_by_ring(OperationQueue& queue, std::byte* buffer, std::size_t bytes, ReduceLoop loop);

Task all_gather(OperationQueue& queue, Call call, std::uint64_t number);

/// The blocks of all_to_all, all_to_allv and reduce_scatter, which are taken to `to`.
Task exchange_blocks(OperationQueue& queue, Call call, std::byte* to, std::uint64_t number);

}  // namespace dtrain::comm
