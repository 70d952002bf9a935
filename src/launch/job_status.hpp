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

/// What `dtrain-launch status` says. All of it is pure.
namespace dtrain::launch {

struct JobStatus {
    JobRecord record;
    /// pending: in a scheduler's queue; queued: the scheduler has started it, and no launcher runs yet;
    /// ended: it has left the queue; waiting: for launchers of other nodes; starting, running, stopping;
    /// silent: its launcher runs and does not answer; lost: its launcher is gone without an end; unreachable:
    /// it runs on a machine that cannot be asked
    std::string state;
    std::string why;              ///< "" where the state says all
    std::optional<JobView> view;  ///< what the launcher itself said
    friend bool operator==(const JobStatus&, const JobStatus&) = default;
};

/// A table of jobs.
std::string status_table(const std::vector<JobStatus>& jobs, std::int64_t now_us);

/// One job, rank by rank.
std::string status_text(const JobStatus& job, std::int64_t now_us);

/// For programs: an array of objects, and what it says.
std::string to_json(const std::vector<JobStatus>& jobs);
std::vector<JobStatus> parse_statuses(std::string_view json);

/// "2 running jobs are called ...": what to say when a word names no job, or several.
std::string no_such_job(std::string_view word, const std::vector<JobRecord>& known);
std::string several_jobs(std::string_view word, const std::vector<JobRecord>& matching);

}  // namespace dtrain::launch
