// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "metrics/chart.hpp"
#include "metrics/run.hpp"

namespace dtrain::metrics {

/// The curves of a run: losses, accuracies, AUCs, other metrics, throughput, as far as it has them.
std::vector<Chart> charts_of(const std::vector<MetricRow>& rows);

/// A self-contained HTML page, which needs no network. Every text is escaped. It also contains its data as
/// JSON: run_json() in the script element "run". Pure.
std::string page_html(const Run& run);

}  // namespace dtrain::metrics
