// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "launch/job_state.hpp"
#include "launch/plan.hpp"
#include "launch/report.hpp"
#include "report/run.hpp"

namespace dtrain::launch {

/// Where the plan has put the ranks.
std::vector<report::RankPlace> places_of(const Plan& plan, const std::vector<RankInfo>& info);

/// What came of a start of a job, for its page: the lives of its ranks, and who failed. Earlier starts stay.
/// Pure.
/// @param run its `began` is the beginning of the first start
/// @param now seconds since 1970
void add_start(report::Run& run, int number, const JobState& job, const FailureReport& report, double now);

/// What a native job has measured in a start: rows, times of ranks, info, events. Pure.
void add_measured(report::Run& run, report::Run measured);

/// The page of --report FILE.html: one for all starts of a job.
class RunPage {
  public:
    /// Whether the file of --report is to be a page: .html or .htm.
    static bool is_page(const std::string& file);

    /// @param title the program
    RunPage(std::string file, mode_t mode, std::string title);

    /// A start begins. Writes the page, so that there is one whatever happens.
    /// @param record that a native job will write
    void begin(std::vector<report::RankPlace> places, std::vector<report::Fact> info, std::string record);

    /// It has ended. Writes the page. @param report without secrets
    void end(const JobState& job, const FailureReport& report);

  private:
    void write();

    std::string file_;
    mode_t mode_;
    report::Run run_;
    std::string record_;
    int starts_ = 0;
};

}  // namespace dtrain::launch
