// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <dtrain/environment.hpp>

#include "native/job_file.hpp"
#include "native/options.hpp"

namespace dtrain::native {

/// Identifies this start among the starts of one job by a launcher that restarts it.
struct Starts {
    std::string run = {};  ///< run id, common to all of them; empty: the job is not restarted
    int before = 0;        ///< number of earlier starts
};

/// From the variables that dtrain-launch sets.
Starts starts_of(const Environment& environment);

/// The checkpoints from which a job tries to resume; the first that can be read is used. A restarted job
/// tries its own checkpoints before those of the command line.
/// @throws UsageError if the command line asks for one and there is none
std::vector<std::filesystem::path> checkpoints_to_try(const Options& options,
                                                      const CheckpointSettings& settings,
                                                      const Starts& starts);

/// Whether a job that can resume from none of these starts from the beginning: true if it was restarted and
/// its command line asked for no checkpoint.
bool may_start_fresh(const Options& options, const Starts& starts);

/// The console message for a restarted job that does not resume. @return "" on the first start
std::string restart_message(const CheckpointSettings& settings, const Starts& starts);

}  // namespace dtrain::native
