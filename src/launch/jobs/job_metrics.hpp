// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "launch/jobs/job_families.hpp"
#include "launch/jobs/job_view.hpp"
#include "launch/outcome/job_state.hpp"
#include "protocol/event.hpp"

namespace dtrain::launch {

/// A job's metrics: updated by the thread that drives the job, read by the one that serves Prometheus.
class JobMetrics {
  public:
    explicit JobMetrics(JobIdentity identity);

    /// Sets the job's state: another launcher coordinates the job, or this one waits for the next start.
    void be(const char* state);

    /// Begins a start of the job.
    void begin(const std::vector<PlannedRank>& planned, int restarts);
    void take(const cluster::Event& event, const JobState& job);
    /// The job is being stopped, or ends.
    void stop() { be("stopping"); }

    std::vector<scrape::Family> families() const;

  private:
    mutable std::mutex mutex_;
    JobSnapshot now_;
    std::vector<PlannedRank> planned_;  ///< used only by the thread that drives the job
    std::size_t known_gpu_errors_ = 0;  ///< in this start
};

}  // namespace dtrain::launch
