// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include <dtrain/environment.hpp>

#include "launch/options.hpp"
#include "launch/rendezvous_point.hpp"
#include "link/agent.hpp"
#include "link/messages.hpp"

namespace dtrain::launch {

/// This machine's part of a job that node 0 drives; returns the job's exit status.
/// @param request what this machine is and has
int follow_coordinator(const RendezvousPoint& rendezvous, const link::JoinRequest& request,
                       const Options& options, const Environment& environment);

/// This machine's part of --check where node 0 looks at all; returns its exit status, or nothing where node 0
/// is not there and `must_leave` says so.
std::optional<int> follow_check(const RendezvousPoint& rendezvous, const link::JoinRequest& request,
                                const Options& options, const Environment& environment,
                                const std::function<bool()>& must_leave);

/// What makes this machine leave a job that goes on.
struct Leaving {
    std::function<bool()> must_leave;           ///< asked often
    std::function<void(int signal)> on_signal;  ///< that asks this node to go
};

/// As follow_coordinator, of a start of the job that is not all of it.
/// @throws UsageError when it cannot follow node 0, which has to do without then
link::Followed follow_start(const RendezvousPoint& rendezvous, const link::JoinRequest& request,
                            const Options& options, const Environment& environment, const Leaving& leaving);

}  // namespace dtrain::launch
