// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <dtrain/environment.hpp>

#include "cluster/rank_list.hpp"
#include "launch/job_record.hpp"
#include "launch/known_jobs.hpp"

namespace dtrain::launch {

/// Whether a command line is about a job that exists: `status`, `logs`, `stacks` or `cancel`. A script of
/// such a name is started as ./status.
bool is_job_command(const std::vector<std::string>& arguments);

/// @throws UsageError for a command line that is wrong, and for a job that does not exist
int run_job_command(const std::vector<std::string>& arguments, const Environment& environment);

struct LogOptions {
    bool follow = false;
    std::optional<cluster::RankList> ranks;  ///< not given: the one that speaks for the job
};

/// The commands about a job whose launcher runs on this machine.
int show_logs(const JobRecord& record, const LogOptions& options);
int show_stacks(const JobRecord& record, const cluster::RankList& ranks);
/// What `cancel` does first: its launcher is told to end it, gently or `now`.
/// @throws Error when there is no launcher any more
void signal_running(const JobRecord& record, const KnownJobs& jobs, bool now);
/// And then: returns when the launcher has ended.
int see_it_end(const JobRecord& record, const KnownJobs& jobs);
/// One whose launcher is told by `command`, which is a step of the job.
int cancel_by_step(const JobRecord& record, const KnownJobs& jobs, const std::vector<std::string>& command,
                   const Environment& environment);
/// One that has no launcher (yet).
int cancel_in_queue(const JobRecord& record, const KnownJobs& jobs, bool now, const Environment& environment);

}  // namespace dtrain::launch
