// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <dtrain/environment.hpp>

#include "base/oom_watch.hpp"
#include "base/pids_watch.hpp"
#include "launch/jobs/job_view.hpp"
#include "launch/outcome/job_outcome.hpp"
#include "launch/outcome/report.hpp"
#include "launch/outcome/run_page.hpp"
#include "launch/plan/plan.hpp"
#include "launch/supervise/watch.hpp"

namespace dtrain::launch {

/// The file in which a native job reports its measurements.
std::string run_record(const Plan& plan);

/// What must be recorded before a start to explain its outcome afterwards.
class Conclusion {
  public:
    /// @param page the page to update; null if --report is not a page
    Conclusion(const Plan& plan, const Options& options, const Environment& environment, int restarts,
               RunPage* page);

    /// For clients that ask about the job while it runs.
    std::vector<PlannedRank> planned_ranks() const { return launch::planned_ranks(info_, log_begins_); }

    /// Of all ranks.
    std::vector<std::string> hosts() const;

    /// Reports the outcome: on stderr, in --report, and in the logs of the ranks that were stopped.
    /// @param why_stopped called if WatchOptions::stop_fd ended the job
    /// @param end_log writes a line at the end of a log of another node; false if that node cannot be reached
    JobOutcome draw(
        const Watched& ended, const std::function<std::string()>& why_stopped,
        const std::function<bool(int node, const std::string& log, const std::string& line)>& end_log) const;

  private:
    Ending ending_of(const Watched& ended, const std::function<std::string()>& why_stopped) const;
    FailureReport report_of(const Watched& ended, const Ending& ending) const;

    const Plan& plan_;
    const Options& options_;
    const Environment& environment_;
    int restarts_;
    RunPage* page_;
    std::vector<RankInfo> info_;
    std::vector<std::uintmax_t> log_begins_;  ///< offsets in bytes at which the logs of this start begin
    OomWatch oom_watch_;
    PidsWatch pids_watch_;
};

}  // namespace dtrain::launch
