// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/environment.hpp>

#include "launch/job_record.hpp"
#include "launch/job_status.hpp"

namespace dtrain::launch {

/// The jobs of this user, running or in a queue.
class KnownJobs {
  public:
    /// @throws UsageError where no folder can hold their records
    explicit KnownJobs(const Environment& environment);

    const std::filesystem::path& folder() const { return folder_; }

    /// The job that is called so; also one that only the scheduler knows.
    /// @throws UsageError when there is none, or several
    JobRecord find(const std::string& arg) const;

    /// How a job is now.
    /// @param with_ranks rank by rank
    JobStatus examine(const JobRecord& record, bool with_ranks) const;

    /// All of them.
    std::vector<JobStatus> examine_all() const;
    /// Those whose launcher runs on this machine.
    std::vector<JobStatus> examine_own() const;

    /// Takes away what jobs left that are no more.
    void forget(const std::vector<JobStatus>& jobs) const;

  private:
    std::vector<JobStatus> examine_there(const JobRecord& record, const std::vector<std::string>& args) const;
    JobStatus examine_queued(const JobRecord& record) const;
    std::optional<JobRecord> in_a_queue(const std::string& arg) const;

    const Environment& environment_;
    std::filesystem::path folder_;
    std::vector<JobRecord> records_;  ///< without submitted jobs whose launcher has one
};

}  // namespace dtrain::launch
