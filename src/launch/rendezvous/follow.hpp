// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include <dtrain/environment.hpp>

#include "launch/options/options.hpp"
#include "launch/plan/rendezvous_point.hpp"
#include "transport/agent.hpp"
#include "transport/messages.hpp"

namespace dtrain::launch {

/// Runs this machine's part of a job that node 0 coordinates; returns the job's exit status.
/// @param request this machine's info for the coordinator
int follow_coordinator(const RendezvousPoint& rendezvous, const transport::JoinRequest& request,
                       const Options& options, const Environment& environment);

/// Runs this machine's part of a --check in which node 0 inspects all nodes; returns its exit status, or
/// nothing if node 0 is not there and `must_leave` returns true.
std::optional<int> follow_check(const RendezvousPoint& rendezvous, const transport::JoinRequest& request,
                                const Options& options, const Environment& environment,
                                const std::function<bool()>& must_leave);

/// Conditions under which this machine leaves a job that continues without it.
struct Leaving {
    std::function<bool()> must_leave;           ///< polled
    std::function<void(int signal)> on_signal;  ///< called on a signal that asks this node to leave
};

/// Like follow_coordinator(), for one start of an elastic job.
/// @throws UsageError if it cannot follow node 0, which then has to do without this node
transport::Followed follow_start(const RendezvousPoint& rendezvous, const transport::JoinRequest& request,
                                 const Options& options, const Environment& environment,
                                 const Leaving& leaving);

}  // namespace dtrain::launch
