// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "elastic/etcd_client.hpp"
#include "elastic/job_keys.hpp"

/// What people and launchers do to a job as a whole.
namespace dtrain::elastic {

struct OpenedJob {
    NodeCount wanted;          ///< what holds
    std::optional<int> ended;  ///< the job is completed already, with this exit status
    std::optional<std::string> notice;
};

/// Makes the job's keys when there are none, and begins anew a job that had failed, or with `force` one that
/// was completed. The number of nodes that etcd has holds, so that a node that is started again with its old
/// command line does not undo a --scale; with `force`, `wanted` does.
OpenedJob open_job(EtcdClient& client, const JobKeys& keys, NodeCount wanted, bool force);

/// Changes the number of nodes of a job by `scale` (see scaled), and gives the new one.
/// @throws UsageError when there is no such job.
NodeCount scale_job(EtcdClient& client, const JobKeys& keys, std::string_view scale);

/// Sets the number of nodes of a job.
/// @throws UsageError when there is no such job.
void resize_job(EtcdClient& client, const JobKeys& keys, NodeCount wanted);

/// Removes everything of a job.
/// @throws UsageError when nodes take part in it, unless `force`: they leave then.
void clean_job(EtcdClient& client, const JobKeys& keys, bool force);

}  // namespace dtrain::elastic
