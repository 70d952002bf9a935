// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/environment.hpp>

#include "launch/options.hpp"

namespace dtrain::launch {

/// Becomes the script: on PaddleCloud the platform starts every process of a parameter-server job itself, and
/// watches and restarts it. Returns only after --dry-run, with the exit status.
/// @throws UsageError when the script cannot be executed
int run_once_on_cloud(const Options& options, const Environment& environment);

}  // namespace dtrain::launch
