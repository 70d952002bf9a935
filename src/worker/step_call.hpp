// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <dtrain/environment.hpp>

namespace dtrain::worker {

/// Sends SIGURG to every process of a Slurm step ("12.3"): to workers it means that a rank has failed, all
/// other processes ignore it. False if Slurm's scancel is missing or refuses.
bool notify_step(const std::string& step, const Environment& environment);

}  // namespace dtrain::worker
