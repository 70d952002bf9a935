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
    int status = 0;                 ///< of the job; 0: it is done
    int stopped_by = 0;             ///< signal that this launcher got; 0: none
    bool ordered = false;           ///< it stopped because StopTimer told it to
    std::vector<std::string> lost;  ///< names of nodes that are known not to be there any more
    std::vector<std::string>
        absent;  ///< names of nodes that could not take part, so that nothing was started
};

/// What a node is told to do in one start. Both run until nothing of the job is left on this node and return
/// then; they watch `stop` all the time.
struct StartRunner {
    /// "You are coordinator": drives the job on start.nodes, of which this node is one.
    /// @param why_stopped gives the reason for people after `stop` has become readable
    std::function<StartEnd(const Start& start, const StopTimer& stop,
                           const std::function<std::string()>& why_stopped)>
        coordinator;
    /// "You are agent of that coordinator": start.nodes has this node as `own_name`, and start.coordinator.
    std::function<StartEnd(const Start& start, const std::string& own_name, const StopTimer& stop)> agent;
};

struct ElasticOptions {
    Policy policy;
    int max_failures = 0;  ///< after which a failed program is started again (Level::again)
    bool force = false;    ///< this node's number of nodes holds, and a completed job runs again
    /// The launcher's status for a job that failed for good, made of the failed program's.
    std::function<int(int status)> failed_status = [](int status) { return status; };
    /// Such a failure ends this node only; the job stays, for a replacement to come.
    bool failure_is_the_nodes = false;
    /// Called on each node before each start.
    std::function<void()> before_start = [] {};
};

/// Takes part in an elastic job from here to its end, and returns the exit status. Where the nodes suffice,
/// the first of them (rank_order) becomes coordinator and starts the job; it is stopped and started again as
/// nodes come and go. SIGTERM, SIGINT, SIGHUP and SIGQUIT make this node leave, with 128 + signal.
/// @throws EtcdRefused, UsageError.
int run_elastic(Membership& membership, const JobKeys& keys, const ElasticOptions& options,
                const StartRunner& runner);

}  // namespace dtrain::elastic
