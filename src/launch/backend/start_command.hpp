// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/environment.hpp>

#include "launch/backend/planner.hpp"

namespace dtrain::launch {

/// The command that starts the ranks of a job with its launch backend.
struct StartCommand {
    std::vector<std::string> argv;
    Environment added;  ///< added to the environment that the backend inherits
};

/// Info about one start of a job.
struct StartInfo {
    std::string token;                               ///< identifies all of its processes
    std::optional<int> restarts;                     ///< before this one; not set if none are possible
    std::string run = {};                            ///< id of the job, set together with `restarts`
    std::optional<std::chrono::seconds> heartbeats;  ///< interval of each node's heartbeats
    std::optional<std::string> gloo_folder = {};     ///< for PADDLE_GLOO_FS_PATH on several nodes
    std::optional<std::string> run_record = {};      ///< file in which a native job writes its measurements
};

/// @param environment environment of the job, including the variables of --env and --env-file
/// @param given the variables of --env and --env-file alone
/// @throws UsageError for options that cannot be passed to workers
StartCommand start_command(const Plan& plan, const Options& options, const Planner& planner,
                           const Environment& environment, const Environment& given, const StartInfo& start);

}  // namespace dtrain::launch
