// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include <dtrain/node_communicator.hpp>

#include "comm/api/backend.hpp"

namespace dtrain::comm {

/// A communicator of ranks of one node that meet as node_communicator() says, and never calls MPI.
/// Collective.
/// @param job_ranks by rank: its number in reports @param deadline of operations; 0 s: none
std::shared_ptr<CommunicatorBackend> node_backend(const NodeRanks& ranks, std::vector<int> job_ranks,
                                                  std::chrono::seconds deadline);

}  // namespace dtrain::comm
