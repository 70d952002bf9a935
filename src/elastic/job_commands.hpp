// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "elastic/etcd_client.hpp"
#include "elastic/job_keys.hpp"

/// Operations on an elastic job as a whole.
namespace dtrain::elastic {

struct OpenedJob {
    NodeCount wanted;          ///< the number in effect
    std::optional<int> ended;  ///< exit status, if the job is already completed
    std::optional<std::string> notice;
};

/// Creates the job's keys if there are none, and restarts a job that had failed or, with `force`, one that
/// was completed. The number of nodes in etcd takes precedence, so that a node that is restarted with its old
/// command line does not undo a --scale; with `force`, `wanted` does.
OpenedJob open_job(EtcdClient& client, const JobKeys& keys, NodeCount wanted, bool force);

/// Changes the number of nodes of a job by `scale` (see scaled); returns the new one.
/// @throws UsageError if there is no such job.
NodeCount scale_job(EtcdClient& client, const JobKeys& keys, std::string_view scale);

/// Sets the number of nodes of a job.
/// @throws UsageError if there is no such job.
void resize_job(EtcdClient& client, const JobKeys& keys, NodeCount wanted);

/// Removes all keys of a job.
/// @throws UsageError if nodes take part in it, unless `force`, which makes them leave.
void clean_job(EtcdClient& client, const JobKeys& keys, bool force);

}  // namespace dtrain::elastic
