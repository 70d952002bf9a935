// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/environment.hpp>

#include "launch/jobs/job_record.hpp"
#include "launch/jobs/job_status.hpp"

namespace dtrain::launch {

/// The jobs of this user, running or in a queue.
class KnownJobs {
  public:
    /// @throws UsageError if no folder can hold their records
    explicit KnownJobs(const Environment& environment);

    const std::filesystem::path& folder() const { return folder_; }

    /// The job with this name or number, including jobs that only the scheduler knows.
    /// @throws UsageError if there is none, or more than one
    JobRecord find(const std::string& arg) const;

    /// The current status of a job.
    /// @param with_ranks rank by rank
    JobStatus examine(const JobRecord& record, bool with_ranks) const;

    /// The status of all jobs.
    std::vector<JobStatus> examine_all() const;
    /// The status of the jobs whose launcher runs on this machine.
    std::vector<JobStatus> examine_own() const;

    /// Removes the files of jobs that no longer exist.
    void forget(const std::vector<JobStatus>& jobs) const;

  private:
    std::vector<JobStatus> examine_remotely(const JobRecord& record,
                                            const std::vector<std::string>& args) const;
    JobStatus examine_queued(const JobRecord& record) const;
    std::optional<JobRecord> in_a_queue(const std::string& arg) const;

    const Environment& environment_;
    std::filesystem::path folder_;
    std::vector<JobRecord> records_;  ///< without submitted jobs whose launcher has its own record
};

}  // namespace dtrain::launch
