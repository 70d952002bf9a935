// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <dtrain/environment.hpp>

#include "elastic/decision.hpp"
#include "elastic/etcd_access.hpp"
#include "elastic/job_keys.hpp"
#include "launch/options.hpp"

namespace dtrain::launch {

/// The settings of an elastic job, from its options.
struct ElasticSettings {
    elastic::EtcdAccess access;
    elastic::JobKeys keys;
    elastic::Policy policy;
    int max_failures = 0;
    /// Use the exit statuses of Paddle 2.2 and 2.3 for a failed job: 101 asks the platform to restart this
    /// node, 3 is used if the number of nodes is a range.
    bool paddles_statuses = false;
};

/// The settings of a job with an etcd: --elastic_server (Paddle 2.2 and 2.3), or --master etcd://host:port
/// (2.4 and later). Nothing if no option names an etcd. As in Paddle, also nothing if only variables name it
/// and the number of nodes is unknown.
/// @throws UsageError for options that exclude each other.
std::optional<ElasticSettings> elastic_settings(const Options& options, const Environment& environment);

/// A command that changes a job, without a script: `--scale N`, or in place of the script Paddle's arguments
/// "scale" (to --np) and "clean".
struct ElasticCommand {
    enum class What { scale, resize, clean };
    What what = What::scale;
    elastic::EtcdAccess access;
    elastic::JobKeys keys;
};

/// Nothing if the options start a job. The arguments "scale" and "clean" count only together with
/// --elastic_server or --master etcd://.
std::optional<ElasticCommand> elastic_command(const Options& options, const Environment& environment);

/// The options for one start of this job on the nodes with these addresses; `own` is this node's address.
Options options_of_start(Options options, const std::vector<std::string>& addresses, const std::string& own);

/// "--master etcd://a:1,b:2" -> "a:1,b:2"; nothing for any other master.
std::optional<std::string> etcd_in_master(const Options& options);

}  // namespace dtrain::launch
