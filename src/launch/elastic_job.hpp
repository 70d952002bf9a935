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

/// One start of the job as its coordinator drives it.
struct StartOrder {
    Options options = {};  ///< with the nodes of this start in --ips
    std::string run = {};  ///< mark of the job, the same at all of its starts
    int restarts = 0;
    const elastic::StopTimer* stop = nullptr;
    std::function<std::string()> why_stopped = {};
    /// Tells others the addresses of all ranks.
    std::function<void(const std::vector<std::string>& endpoints)> publish = {};
};

/// How it ended.
struct ElasticStartEnd {
    int status = 0;
    int stopped_by = 0;                   ///< signal
    bool ordered = false;                 ///< by StartOrder::stop
    std::vector<std::size_t> lost_nodes;  ///< by node rank: nothing was heard of what ran there
    std::vector<int> absent_nodes;        ///< which could neither follow nor be reached: nothing was started
};

using StartAsCoordinator = std::function<ElasticStartEnd(const StartOrder&)>;

/// @param options with the nodes of the start in --ips
/// @throws UsageError when this node cannot follow its coordinator
using FollowStart = std::function<link::Followed(const Options& options, const Leaving& leaving)>;

/// What of this node the others are told.
struct OwnPart {
    int processes = 0;
    std::vector<std::string> gpus;
};

/// --host, or the address of this machine towards etcd.
/// @throws UsageError when there is no way there.
std::string own_address(const ElasticSettings& settings, const Options& options);

/// Takes part in an elastic job to its end; the exit status.
/// @param run drives one start when this node is coordinator
/// @param follow takes part in one when it is not
/// @throws UsageError when etcd does not answer at all, or says no.
int run_elastic_job(const ElasticSettings& settings, const Options& options, const Environment& environment,
                    const OwnPart& own, const StartAsCoordinator& run, const FollowStart& follow);

/// Does what the command says and prints Paddle's "action scale done"; the exit status.
int run_elastic_command(const ElasticCommand& command, const Options& options);

}  // namespace dtrain::launch
