// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <dtrain/environment.hpp>

#include "launch/options/options.hpp"

namespace dtrain::launch {

/// `dtrain-launch submit [options] script [script options]`: submits the job to the queue of Slurm or PBS and
/// prints how to follow it; with --dry-run it prints the batch script.
int run_submit(const std::vector<std::string>& arguments, const Environment& environment);

/// @throws UsageError for an option on the command line that is valid only for `submit`
void refuse_submit_options(const ParsedOptions& parsed);

}  // namespace dtrain::launch
