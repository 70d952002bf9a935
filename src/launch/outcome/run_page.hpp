// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "launch/outcome/job_state.hpp"
#include "launch/outcome/report.hpp"
#include "launch/plan/plan.hpp"
#include "metrics/run.hpp"

namespace dtrain::launch {

/// Where the plan placed the ranks.
std::vector<metrics::RankLocation> locations_of(const Plan& plan, const std::vector<RankInfo>& info);

/// Adds the outcome of a start of a job to its page: when its ranks ran, and which failed. Earlier starts are
/// kept. Pure.
/// @param run its `began` is the beginning of the first start
/// @param now seconds since 1970
void add_start(metrics::Run& run, int number, const JobState& job, const FailureReport& report, double now);

/// Adds what a native job measured in a start: rows, times of ranks, info, events. Pure.
void add_measured(metrics::Run& run, metrics::Run measured);

/// The page of --report FILE.html: one page for all starts of a job.
class RunPage {
  public:
    /// Whether the file of --report is a page: .html or .htm.
    static bool is_page(const std::string& file);

    /// @param title name of the program
    RunPage(std::string file, mode_t mode, std::string title);

    /// Begins a start. Writes the page, so that it exists whatever happens.
    /// @param record path of the run record that a native job will write
    void begin(std::vector<metrics::RankLocation> locations, std::vector<metrics::Fact> info,
               std::string record);

    /// Ends a start. Writes the page.
    /// @param report without secrets
    void end(const JobState& job, const FailureReport& report);

  private:
    void write();

    std::string file_;
    mode_t mode_;
    metrics::Run run_;
    std::string record_;
    int starts_ = 0;
};

}  // namespace dtrain::launch
