// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launch/options/options.hpp"

namespace dtrain::launch {

/// A given option that implies a parameter-server job.
struct ServerOption {
    std::string text;  ///< "--server_num 2"
    bool heterogeneous = false;
    bool reports_members = true;  ///< it says how many servers or workers there are, or where
};

std::vector<ServerOption> server_options(const Options& options);

/// Whether the options are "--run_mode ps script" without any option for servers or workers: one of each, as
/// with Paddle.
bool has_one_server_and_worker(const Options& options);

}  // namespace dtrain::launch
