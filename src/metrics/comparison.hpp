// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "metrics/chart.hpp"
#include "metrics/run.hpp"

/// Several runs beside each other. All of it is pure.
namespace dtrain::metrics {

struct NamedRun {
    std::string name;
    Run run;
    friend bool operator==(const NamedRun&, const NamedRun&) = default;
};

/// A setting, and what it is in each run; "" where a run does not tell.
struct ComparedSetting {
    std::string name;
    std::vector<std::string> values;
    bool differs = false;
    friend bool operator==(const ComparedSetting&, const ComparedSetting&) = default;
};

/// In the order in which the runs have them, without what names a run and sets nothing.
std::vector<ComparedSetting> compared_settings(const std::vector<NamedRun>& runs);

/// A chart for each curve that a run has ("test" of "Loss"), with a line for each run that has it.
std::vector<Chart> compared_charts(const std::vector<NamedRun>& runs);

/// One page of HTML that needs nothing else, as page_html(): how the runs ended and what their curves ended
/// with, in which settings they differ, and the curves over each other. Names and settings, rows and outcomes
/// are in it as JSON too: a list in the script element "runs".
std::string comparison_html(const std::vector<NamedRun>& runs);

}  // namespace dtrain::metrics
