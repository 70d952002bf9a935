// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <dtrain/environment.hpp>

#include "launch/jobs/job_record.hpp"
#include "launch/jobs/known_jobs.hpp"
#include "protocol/rank_list.hpp"

namespace dtrain::launch {

/// Whether a command line is about an existing job: `status`, `logs`, `stacks`, `explain` or
/// `cancel`. A script of such
/// a name is started as ./status.
bool is_job_command(const std::vector<std::string>& arguments);

/// @throws UsageError for an invalid command line, or a job that does not exist
int run_job_command(const std::vector<std::string>& arguments, const Environment& environment);

struct LogOptions {
    bool follow = false;
    std::optional<cluster::RankList> ranks;  ///< not given: the job's main rank (rank 0 or worker 0)
};

/// Commands about a job whose launcher runs on this machine.
int show_logs(const JobRecord& record, const LogOptions& options);
int show_stacks(const JobRecord& record, const cluster::RankList& ranks);
/// Says for which rank the others wait, and what it does.
int explain_job(const JobRecord& record);
/// First part of `cancel`: tells the launcher to end the job, gently or `now`.
/// @throws Error if the launcher is gone
void signal_running(const JobRecord& record, const KnownJobs& jobs, bool now);
/// Second part of `cancel`: returns when the launcher has ended.
int wait_until_ended(const JobRecord& record, const KnownJobs& jobs);
/// Cancels a job by running `command` as a step of the job.
int cancel_by_step(const JobRecord& record, const KnownJobs& jobs, const std::vector<std::string>& command,
                   const Environment& environment);
/// Cancels a job that has no launcher (yet).
int cancel_in_queue(const JobRecord& record, const KnownJobs& jobs, bool now, const Environment& environment);

}  // namespace dtrain::launch
