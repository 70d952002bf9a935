// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <dtrain/environment.hpp>

#include "launch/options/options.hpp"

namespace dtrain::launch {

/// Main function of dtrain-launch: plans, starts, watches and reports one job. Returns its exit status.
int run_launch(const std::vector<std::string>& arguments, const Environment& environment);

/// Plans, starts, watches and reports one job that nothing but its options describes. Returns its exit
/// status.
/// @throws UsageError with one line if it cannot start
int run_job(Options options, const Environment& environment);

}  // namespace dtrain::launch
