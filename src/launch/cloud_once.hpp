// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/environment.hpp>

#include "launch/options.hpp"

namespace dtrain::launch {

/// Replaces this process by the script: on PaddleCloud the platform itself starts, watches and restarts every
/// process of a parameter-server job. Returns only after --dry-run, with the exit status.
/// @throws UsageError if the script cannot be executed
int run_once_on_cloud(const Options& options, const Environment& environment);

}  // namespace dtrain::launch
