// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace dtrain::model {

/// How much better `value` is than `best`: a loss when it is smaller, any other measure when it is larger.
double gain(const std::string& measure, double best, double value);

/// @param callback named in the message
/// @throws UsageError when `monitor` is none of the measures
void check_monitor(const char* callback, const std::string& monitor,
                   const std::vector<std::string>& measures);

}  // namespace dtrain::model
