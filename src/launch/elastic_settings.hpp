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

/// What the options say of an elastic job.
struct ElasticSettings {
    elastic::EtcdAccess access;
    elastic::JobKeys keys;
    elastic::Policy policy;
    int max_failures = 0;
    /// Exit statuses of Paddle 2.2 and 2.3 for a job that failed: 101 asks a platform to start this node
    /// again, 3 where the number of nodes is a range.
    bool paddles_statuses = false;
};

/// Where a job of Paddle 2.2 and 2.3 has its etcd (--elastic_server), or one of 2.4 and later (--master
/// etcd://host:port); nothing when no option names one, or the number of nodes is not known though only
/// variables name it, which is Paddle's rule.
/// @throws UsageError for options that do not go together.
std::optional<ElasticSettings> elastic_settings(const Options& options, const Environment& environment);

/// One job as seen by a command that changes it, without a script: `--scale N`, or in place of the script
/// Paddle's arguments "scale" (to --np) and "clean".
struct ElasticCommand {
    enum class What { scale, resize, clean };
    What what = What::scale;
    elastic::EtcdAccess access;
    elastic::JobKeys keys;
};

/// Nothing when the options start a job. The arguments count only beside --elastic_server or --master
/// etcd://.
std::optional<ElasticCommand> elastic_command(const Options& options, const Environment& environment);

/// The options of one start of this job on the nodes with these addresses; this node is `own`.
Options options_of_start(Options options, const std::vector<std::string>& addresses, const std::string& own);

/// "--master etcd://a:1,b:2" -> "a:1,b:2"; nothing for any other master.
std::optional<std::string> etcd_in_master(const Options& options);

}  // namespace dtrain::launch
