// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <dtrain/environment.hpp>

#include "launch/backend/planner.hpp"
#include "launch/rendezvous/agents.hpp"
#include "launch/rendezvous/follow.hpp"

namespace dtrain::launch {

/// This launcher's role among those of the job's nodes.
struct Rendezvous {
    std::optional<int> followed;     ///< it was an agent: exit status of the job, which is over
    std::unique_ptr<Agents> agents;  ///< it is the coordinator of these agents
    std::optional<Plan> plan;        ///< as coordinator: the plan, unless it depends on joining nodes
};

/// The launcher of the first node coordinates the job, and those of the other nodes are its agents.
/// @param follows called before this launcher starts as an agent
/// @throws UsageError if this machine has no place among the nodes, or the others cannot reach it
Rendezvous meet_other_nodes(const Options& options, const Environment& environment, const Planner& planner,
                            const std::function<void()>& follows);

/// Tells the coordinator why this node, if it is one of the others, cannot take part; ends within seconds.
void report_unable(const std::string& reason, const Options& options, const Environment& environment,
                   const Planner& planner);

/// Decides which node inspects the others for --check: the first one, if the launchers of the others join it;
/// else each by itself, over ssh. If the nodes are named, the result has a plan unless this node was
/// inspected.
/// @throws UsageError if the nodes were started in different ways
Rendezvous meet_for_check(const Options& options, const Environment& environment, const Planner& planner);

/// Coordinates one start of an elastic job, on the nodes of --ips.
/// @throws UsageError if the others cannot reach this launcher
Rendezvous lead_start(const Options& options, const Environment& environment, const Planner& planner);

/// Takes part in a start that another launcher coordinates, until it is over.
/// @throws UsageError if this launcher cannot follow it
transport::Followed follow_start(const Options& options, const Environment& environment,
                                 const Planner& planner, const Leaving& leaving);

}  // namespace dtrain::launch
