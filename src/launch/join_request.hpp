// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launch/plan.hpp"
#include "link/coordinator.hpp"
#include "link/messages.hpp"

/// What the launchers of a job's nodes tell each other about their plans. Pure.
namespace dtrain::launch {

/// What an agent says first.
/// @param plan its own, of all nodes or, where they meet at --master, of its own machine
/// @param nodes_at_master how many meet there; 0: the plan names the nodes
link::JoinRequest join_request_of(const Plan& plan, const Options& options, const std::string& host_name,
                                  int nodes_at_master);

/// Which node of the coordinator's plan an agent is; refused when it was started with another list, has no
/// place in it, or has another number of ranks.
link::Admission admit_named(const link::JoinRequest& request, const Plan& plan);

/// Whether an agent that comes to --master can be one of `count` nodes: the number that it gets for the
/// time being, the lowest one that is free.
/// @param wanted_by_others --rank of those that are here, by their numbers
link::Admission admit_at_master(const link::JoinRequest& request, int count, RunMode mode,
                                const std::map<int, std::optional<int>>& wanted_by_others);

/// The final numbers of nodes that came in this order: --rank where it was given, the free ones in between
/// for the others. The first is node 0.
std::vector<int> numbered(const std::vector<std::optional<int>>& wanted);

/// What an agent's part of the plan is.
link::Accepted accepted_of(const Plan& plan, int node);

/// The plan with what the agents know of their own machines in place of what was assumed.
/// @param requests by node
Plan with_info(Plan plan, const std::map<int, link::JoinRequest>& requests);

/// What is different about the command that an agent runs, for people: "b.py" in place of node 0's "a.py".
/// Secrets are hidden. Nothing when it is the same, in the same folder.
std::optional<std::string> own_command(const link::JoinRequest& request, const Plan& plan);

/// One line about all nodes that run commands of their own.
std::optional<std::string> own_commands(const std::map<int, link::JoinRequest>& requests, const Plan& plan);

/// "node 1 of 2: ranks 4-7", nodes counted from 0.
std::string part_text(const link::Accepted& accepted);

}  // namespace dtrain::launch
