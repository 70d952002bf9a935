// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <dtrain/environment.hpp>

#include "launch/options.hpp"

namespace dtrain::launch {

/// `dtrain-launch submit [options] script [script options]`: gives the job to the queue of Slurm or PBS and
/// tells how to follow it; with --dry-run it prints the batch script.
int run_submit(const std::vector<std::string>& arguments, const Environment& environment);

/// From now on the launcher logs as the options say; what it was told of them comes first.
void begin_log(const ParsedOptions& parsed);

/// @throws UsageError for an option on the command line that means something to `submit` only
void refuse_submit_options(const ParsedOptions& parsed);

}  // namespace dtrain::launch
