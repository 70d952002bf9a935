// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace dtrain::model {

/// How much better `value` is than `best`: losses improve when they get smaller, all other metrics when they
/// get larger.
double gain(const std::string& measure, double best, double value);

/// @param callback named in the message @throws UsageError if `monitor` is not among the names
void check_monitor(const char* callback, const std::string& monitor,
                   const std::vector<std::string>& metric_names);

}  // namespace dtrain::model
