// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "elastic/run_elastic.hpp"
#include "elastic/stop_timer.hpp"
#include "launch/elastic_settings.hpp"
#include "launch/follow.hpp"

namespace dtrain::launch {

/// One start of the job, as its coordinator runs it.
struct StartOrder {
    Options options = {};  ///< with the nodes of this start in --ips
    std::string run = {};  ///< token of the job, the same for all of its starts
    int restarts = 0;
    const elastic::StopTimer* stop = nullptr;
    std::function<std::string()> why_stopped = {};
    /// Publishes the addresses of all ranks.
    std::function<void(const std::vector<std::string>& endpoints)> publish = {};
};

/// How a start ended.
struct ElasticStartEnd {
    int status = 0;
    int stopped_by = 0;                   ///< signal
    bool ordered = false;                 ///< stopped by StartOrder::stop
    std::vector<std::size_t> lost_nodes;  ///< node ranks whose ranks never reported their end
    std::vector<int> absent_nodes;        ///< nodes that could neither follow nor be reached: not started
};

using StartAsCoordinator = std::function<ElasticStartEnd(const StartOrder&)>;

/// @param options with the nodes of the start in --ips
/// @throws UsageError if this node cannot follow its coordinator
using FollowStart = std::function<link::Followed(const Options& options, const Leaving& leaving)>;

/// What this node publishes about itself to the others.
struct OwnPart {
    int processes = 0;
    std::vector<std::string> gpus;
};

/// --host, or the address from which this machine reaches etcd.
/// @throws UsageError if etcd cannot be reached.
std::string own_address(const ElasticSettings& settings, const Options& options);

/// Takes part in an elastic job until it ends; returns the exit status.
/// @param run runs one start as coordinator
/// @param follow takes part in one start as agent
/// @throws UsageError if etcd never answers, or refuses.
int run_elastic_job(const ElasticSettings& settings, const Options& options, const Environment& environment,
                    const OwnPart& own, const StartAsCoordinator& run, const FollowStart& follow);

/// Executes the command and prints Paddle's "action scale done"; returns the exit status.
int run_elastic_command(const ElasticCommand& command, const Options& options);

}  // namespace dtrain::launch
