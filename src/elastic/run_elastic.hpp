// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "elastic/decision.hpp"
#include "elastic/membership.hpp"

namespace dtrain::elastic {

/// How one start ended on this node.
struct StartEnd {
    int status = 0;                 ///< of the job; 0: success
    int stopped_by = 0;             ///< signal that this launcher got; 0: none
    bool ordered = false;           ///< it stopped because of StopTimer
    std::vector<std::string> lost;  ///< names of nodes that are known to be lost
    std::vector<std::string>
        absent;  ///< names of nodes that could not take part, so that nothing was started
};

/// How a node runs one start. Both functions return when no process of the job is left on this node; they
/// watch `stop` all the time.
struct StartRunner {
    /// Runs the start as coordinator: on start.nodes, of which this node is one.
    /// @param why_stopped returns the reason, for people, after `stop` has become readable
    std::function<StartEnd(const Start& start, const StopTimer& stop,
                           const std::function<std::string()>& why_stopped)>
        coordinator;
    /// Takes part as agent of start.coordinator; this node is `own_name` in start.nodes.
    std::function<StartEnd(const Start& start, const std::string& own_name, const StopTimer& stop)> agent;
};

struct ElasticOptions {
    Policy policy;
    int max_failures = 0;  ///< how often a failed program is restarted (Level::again)
    bool force = false;    ///< use this node's number of nodes, and run a completed job again
    /// The launcher's exit status for a job that failed for good, given that of the failed program.
    std::function<int(int status)> failed_status = [](int status) { return status; };
    /// Such a failure ends this node only; the job stays and waits for a replacement.
    bool failure_is_the_nodes = false;
    /// Called on each node before each start.
    std::function<void()> before_start = [] {};
};

/// Takes part in an elastic job until it ends, and returns the exit status. Once there are enough nodes, the
/// first of them (rank_order) becomes coordinator and starts the job; it is stopped and restarted as nodes
/// join and leave. SIGTERM, SIGINT, SIGHUP and SIGQUIT make this node leave, with status 128 + signal.
/// @throws EtcdRefused, UsageError.
int run_elastic(Membership& membership, const JobKeys& keys, const ElasticOptions& options,
                const StartRunner& runner);

}  // namespace dtrain::elastic
