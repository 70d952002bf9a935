// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launch/options.hpp"

namespace dtrain::launch {

enum class RunMode {
    collective,
    parameter_server,
    heterogeneous,  ///< a parameter-server job with workers on other devices besides
    rpc,
};

/// "ps-heter", as --run_mode has it.
std::string to_string(RunMode mode);

bool has_servers(RunMode mode);

/// The kind of job that the options describe: --run_mode, else a job with servers when any option of one is
/// there, else collective.
/// @throws UsageError for an option that does not belong to the mode, or one that the mode lacks.
RunMode decide_mode(const Options& options);

/// "--run_mode ps script", with nothing that tells servers or workers: one of each, as with Paddle.
bool has_one_server_and_worker(const Options& options);

/// On PaddleCloud the platform gives each process of a parameter-server job its part: the script runs once,
/// directly, with the platform's variables.
bool runs_once_on_cloud(const Options& options, const Environment& environment);

}  // namespace dtrain::launch
