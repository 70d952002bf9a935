// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <dtrain/environment.hpp>

#include "worker/native/job_file.hpp"
#include "worker/native/options.hpp"

namespace dtrain::native {

/// The starts of one job by a launcher that starts it again.
struct Starts {
    std::string run = {};  ///< mark that all of them have; empty: this is the only one
    int before = 0;        ///< how many were before this one
};

/// What dtrain-launch says.
Starts starts_of(const Environment& environment);

/// The checkpoints that a job tries to go on from: the first that can be read is taken. One that is started
/// again tries its own before what the command line says.
/// @throws UsageError when the command line wants one and there is none
std::vector<std::filesystem::path> checkpoints_to_try(const Options& options,
                                                      const CheckpointSettings& settings,
                                                      const Starts& starts);

/// Whether a job that cannot go on from any of these begins anew: its command line did not ask for one.
bool begins_without(const Options& options, const Starts& starts);

/// What the console says of a job that is started again and does not go on. @return "" of the first start
std::string begins_anew_line(const CheckpointSettings& settings, const Starts& starts);

}  // namespace dtrain::native
