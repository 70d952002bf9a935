// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/mpi/operation_queue.hpp"
#include "comm/node/announced.hpp"

namespace dtrain::comm {

/// A collective operation whose ranks are all on one node: makes no MPI calls.
Task on_one_node(OperationQueue& queue, Call call, std::uint64_t number);

/// The parts of operations over several nodes that stay within a node.

/// Reduces every rank's call.receive, in place on all of them.
Task reduce_in_node(OperationQueue& queue, const Call& call, const Agreement& agreement,
                    std::uint64_t number);

/// Copies call.receive of the node's rank `root` to all others.
Task broadcast_in_node(OperationQueue& queue, const Call& call, const Agreement& agreement, int root);

/// Passes this rank its shard of call.receive, which has been reduced.
void use_shard(OperationQueue& queue, const Call& call);

}  // namespace dtrain::comm
