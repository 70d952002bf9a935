// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <dtrain/environment.hpp>

namespace dtrain::worker {

/// Sends SIGURG to every process of a Slurm step ("12.3"): workers take it for the news that a rank has
/// failed, all else ignores it. False when Slurm's scancel is not here or refuses.
bool notify_step(const std::string& step, const Environment& environment);

}  // namespace dtrain::worker
