// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <dtrain/environment.hpp>

namespace dtrain::worker {

/// Runs one rank of a job, the main function of dtrain-worker. Returns the exit status.
/// @param command the program's name as it was called, for messages
int run_rank(const std::string& command, const std::vector<std::string>& arguments,
             const Environment& environment);

}  // namespace dtrain::worker
