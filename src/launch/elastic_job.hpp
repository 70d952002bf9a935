// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "elastic/run_elastic.hpp"
#include "elastic/stop_timer.hpp"
#include "launch/options/elastic_settings.hpp"
#include "launch/outcome/job_outcome.hpp"
#include "launch/rendezvous/follow.hpp"

namespace dtrain::launch {

/// One start of the job, as its coordinator runs it.
struct StartRequest {
    Options options = {};  ///< with the nodes of this start in --ips
    std::string run = {};  ///< token of the job, the same for all of its starts
    int restarts = 0;
    const elastic::StopTimer* stop = nullptr;
    std::function<std::string()> why_stopped = {};
    /// Publishes the addresses of all ranks.
    std::function<void(const std::vector<std::string>& endpoints)> publish = {};
};

using StartAsCoordinator = std::function<JobOutcome(const StartRequest&)>;

/// @param options with the nodes of the start in --ips
/// @throws UsageError if this node cannot follow its coordinator
using FollowStart = std::function<transport::Followed(const Options& options, const Leaving& leaving)>;

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
