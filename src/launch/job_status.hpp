// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/job_record.hpp"
#include "launch/job_view.hpp"

/// The output of `dtrain-launch status`. Pure.
namespace dtrain::launch {

struct JobStatus {
    JobRecord record;
    /// pending: in a scheduler's queue; queued: the scheduler has started it, and no launcher runs yet;
    /// ended: it has left the queue; waiting: for launchers of other nodes; starting, running, stopping;
    /// silent: its launcher runs and does not answer; lost: its launcher ended without reporting an end;
    /// unreachable: it runs on a machine that cannot be asked
    std::string state;
    std::string why;              ///< "" if the state needs no explanation
    std::optional<JobView> view;  ///< the launcher's own answer
    friend bool operator==(const JobStatus&, const JobStatus&) = default;
};

/// A table of jobs.
std::string status_table(const std::vector<JobStatus>& jobs, std::int64_t now_us);

/// The status of one job, rank by rank.
std::string status_text(const JobStatus& job, std::int64_t now_us);

/// JSON for programs: an array of objects; parse_statuses() reads it back.
std::string to_json(const std::vector<JobStatus>& jobs);
std::vector<JobStatus> parse_statuses(std::string_view json);

/// Error messages for a word that names no job, or several: "2 running jobs are called ...".
std::string no_such_job(std::string_view word, const std::vector<JobRecord>& known);
std::string several_jobs(std::string_view word, const std::vector<JobRecord>& matching);

}  // namespace dtrain::launch
