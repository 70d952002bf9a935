// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launch/options.hpp"

namespace dtrain::launch {

/// What every dtrain-worker of a job is told on its command line; nothing that it does anyway. Pure.
/// @throws UsageError naming the option whose value no worker would take
std::vector<std::string> worker_options(const std::string& log_dir, const Options& options);

/// @throws UsageError when the program of --wrap is not in the PATH of this machine
void refuse_missing_wrapper(const Options& options, const Environment& environment);

}  // namespace dtrain::launch
