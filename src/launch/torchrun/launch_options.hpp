// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/environment.hpp>

#include "launch/options/options.hpp"
#include "launch/torchrun/run_options.hpp"

namespace dtrain::launch::torchrun {

/// What the translation must know of this machine and this start.
struct Circumstances {
    int cpus = 1;                    ///< processors that this process may use
    std::string random_id;           ///< names a job that has no --rdzv-id
    std::string python = "python3";  ///< that runs the script
    std::string temporary_folder;    ///< for logs if there is no --log-dir
};

/// The job that a dtrain-run command line asks for, in the words of dtrain-launch. Pure.
/// @param site settings of this machine, which the command line overrides
/// @throws UsageError for what torchrun would wait for in vain, or dtrain does not do
Options launch_options(const RunOptions& run, const Circumstances& circumstances, Options site = {});

}  // namespace dtrain::launch::torchrun
