// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launch/outcome/report.hpp"
#include "launch/plan/plan.hpp"

/// What watching and reporting need to know about a plan's ranks.
namespace dtrain::launch {

/// Servers and heterogeneous stages, which serve the workers and end with them.
std::set<int> service_ranks_of(const Plan& plan);

/// The first rank of each node, which sends the node's heartbeats; empty in a job on one node.
std::vector<int> first_ranks_of_nodes(const Plan& plan);

/// @param own_name host name of this machine
/// @param torch_attempt of a job that dtrain-run started: the number of this attempt
std::vector<RankInfo> info_of(const Plan& plan, const std::string& own_name,
                              std::optional<int> torch_attempt = std::nullopt);

}  // namespace dtrain::launch
