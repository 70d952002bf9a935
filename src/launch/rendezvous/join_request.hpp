// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launch/plan/plan.hpp"
#include "transport/coordinator.hpp"
#include "transport/messages.hpp"

/// Messages between the launchers of a job's nodes about their plans. Pure.
namespace dtrain::launch {

/// An agent's join request.
/// @param plan its own plan: of all nodes or, if they meet at --master, of its own machine
/// @param nodes_at_master how many nodes meet there; 0: the plan names the nodes
transport::JoinRequest join_request_of(const Plan& plan, const Options& options, const std::string& host_name,
                                       int nodes_at_master);

/// Decides which node of the coordinator's plan an agent is; refuses it if it was started with another list,
/// has no place in it, or has another number of ranks.
transport::Admission admit_named(const transport::JoinRequest& request, const Plan& plan);

/// Decides whether an agent that joins at --master can be one of `count` nodes, and assigns a preliminary
/// number: the lowest free one.
/// @param wanted_by_others --rank of the nodes that have joined, by their numbers
transport::Admission admit_at_master(const transport::JoinRequest& request, int count, RunMode mode,
                                     const std::map<int, std::optional<int>>& wanted_by_others);

/// The final numbers of nodes in the order in which they joined: --rank if given, else the next free number.
/// The first is node 0.
std::vector<int> numbered(const std::vector<std::optional<int>>& wanted);

/// An agent's part of the plan.
transport::Accepted accepted_of(const Plan& plan, int node);

/// Replaces the plan's assumptions about the agents' machines by the agents' own info.
/// @param requests by node
Plan with_info(Plan plan, const std::map<int, transport::JoinRequest>& requests);

/// How the command of an agent differs from node 0's, for people: "b.py" in place of node 0's "a.py". Secrets
/// are hidden. Nothing if it is the same command in the same folder.
std::optional<std::string> own_command(const transport::JoinRequest& request, const Plan& plan);

/// One line about all nodes whose commands differ from node 0's.
std::optional<std::string> own_commands(const std::map<int, transport::JoinRequest>& requests,
                                        const Plan& plan);

/// "node 1 of 2: ranks 4-7", nodes counted from 0.
std::string part_text(const transport::Accepted& accepted);

}  // namespace dtrain::launch
