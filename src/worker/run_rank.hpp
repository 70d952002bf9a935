// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <dtrain/environment.hpp>

namespace dtrain::worker {

/// What dtrain-worker does: one rank of a job. Returns its exit status.
/// @param command how it was called, for messages
int run_rank(const std::string& command, const std::vector<std::string>& arguments,
             const Environment& environment);

}  // namespace dtrain::worker
