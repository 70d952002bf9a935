// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include <dtrain/environment.hpp>

#include "launch/agents.hpp"
#include "launch/follow.hpp"
#include "launch/planner.hpp"

namespace dtrain::launch {

/// What this launcher is among those of the job's nodes.
struct Rendezvous {
    std::optional<int> followed;     ///< it followed another one: the status of the job, which is over
    std::unique_ptr<Agents> agents;  ///< it drives the job, and others follow
    std::optional<Plan> plan;        ///< it drives the job: the plan, where nobody has to come first
};

/// Of several nodes the first drives the job, and the launchers of the others follow it.
/// @param follows called when this one follows, before it does
/// @throws UsageError when this machine has no place among the nodes, or cannot be found by the others
Rendezvous meet_other_nodes(const Options& options, const Environment& environment, const Planner& planner,
                            const std::function<void()>& follows);

/// Who looks at the nodes for --check: the first of them, where the launchers of the others come to it; else
/// each by itself, over ssh. Of nodes that are named there is a plan unless this one was looked at.
/// @throws UsageError when the nodes were started in different ways
Rendezvous meet_for_check(const Options& options, const Environment& environment, const Planner& planner);

/// This launcher drives one start of an elastic job, on the nodes of --ips.
/// @throws UsageError when it cannot be found by the others
Rendezvous lead_start(const Options& options, const Environment& environment, const Planner& planner);

/// Another one does: takes part until that is over.
/// @throws UsageError when this one cannot follow it
link::Followed follow_start(const Options& options, const Environment& environment, const Planner& planner,
                            const Leaving& leaving);

}  // namespace dtrain::launch
