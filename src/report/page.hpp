// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "report/chart.hpp"
#include "report/run.hpp"

namespace dtrain::report {

/// The curves of a run: losses, accuracies, AUCs, other metrics, throughput; those that it has.
std::vector<Chart> charts_of(const std::vector<MetricRow>& rows);

/// One page of HTML that needs nothing else and asks nobody for anything: it opens without a network. Every
/// text is escaped. What it shows is in it as JSON too: run_json() in the script element "run". Pure.
std::string page_html(const Run& run);

}  // namespace dtrain::report
