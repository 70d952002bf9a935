// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/environment.hpp>

#include "launch/planner.hpp"

namespace dtrain::launch {

/// What starts the ranks of a job on its engine.
struct StartCommand {
    std::vector<std::string> argv;
    Environment added;  ///< to what the engine inherits
};

/// One start of a job.
struct StartInfo {
    std::string token;                               ///< carried by all of its processes
    std::optional<int> restarts;                     ///< before it; not told where there can be none
    std::string run = {};                            ///< mark of the job, told with restarts
    std::optional<std::chrono::seconds> heartbeats;  ///< how often each node gives a sign of life
    std::optional<std::string> gloo_folder = {};     ///< for PADDLE_GLOO_FS_PATH on several nodes
    std::optional<std::string> run_record = {};      ///< file in which a native job says what it measures
};

/// @param environment the job's, with what --env and --env-file gave
/// @param given that alone
/// @throws UsageError for options that workers cannot be told
StartCommand start_command(const Plan& plan, const Options& options, const Planner& planner,
                           const Environment& environment, const Environment& given, const StartInfo& start);

/// The name by which Slurm knows the step of a start.
std::string step_name(const std::string& token);

}  // namespace dtrain::launch
