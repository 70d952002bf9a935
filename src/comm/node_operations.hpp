// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/announced.hpp"
#include "comm/operation_queue.hpp"

namespace dtrain::comm {

/// A collective operation whose ranks are all on one node: no call of MPI is made.
Task on_one_node(OperationQueue& queue, Call call, std::uint64_t number);

/// The parts of operations on several nodes that stay inside of a node.

/// Reduces every rank's call.receive in all of them.
Task reduce_in_node(OperationQueue& queue, const Call& call, const Agreement& agreement,
                    std::uint64_t number);

/// call.receive of the node's rank `root` to all the others.
Task broadcast_in_node(OperationQueue& queue, const Call& call, const Agreement& agreement, int root);

/// Hands this rank its share of call.receive, which is reduced.
void use_share(OperationQueue& queue, const Call& call);

}  // namespace dtrain::comm
