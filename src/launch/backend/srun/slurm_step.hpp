// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <dtrain/environment.hpp>

namespace dtrain::launch {

/// A step of a Slurm job, identified by the name that srun gave it: only Slurm knows its number.
struct SlurmStep {
    std::string job_id;
    std::string name;
};

/// The id ("12.3") of the step with this name in squeue's output of lines "ID NAME"; nothing if it is not
/// listed. Pure.
std::optional<std::string> find_step(std::string_view squeue_output, const std::string& name);

/// Ends a step whose srun may be gone: SIGTERM to all its processes, SIGKILL to the remaining ones after the
/// grace time. Returns when the step has ended, or if Slurm does not end it within a few more seconds.
void end_step(const SlurmStep& step, std::chrono::milliseconds grace, const Environment& environment);

}  // namespace dtrain::launch
