// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launch/options.hpp"

namespace dtrain::launch {

/// The options of every dtrain-worker of a job; defaults are omitted. Pure.
/// @throws UsageError naming the option whose value no worker would accept
std::vector<std::string> worker_options(const std::string& log_dir, const Options& options);

/// @throws UsageError if the program of --wrap is not in the PATH of this machine
void refuse_missing_wrapper(const Options& options, const Environment& environment);

}  // namespace dtrain::launch
