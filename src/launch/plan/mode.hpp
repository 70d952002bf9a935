// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/options/options.hpp"

namespace dtrain::launch {

bool has_servers(RunMode mode);

/// The mode of the job that the options describe: --run_mode, else a parameter-server job if any of its
/// options is given, else collective.
/// @throws UsageError for an option that does not belong to the mode, or a missing one that the mode needs.
RunMode decide_mode(const Options& options);

/// Whether PaddleCloud assigns each process its part of a parameter-server job: the script then runs once,
/// directly, with the platform's variables.
bool runs_once_on_cloud(const Options& options, const Environment& environment);

}  // namespace dtrain::launch
