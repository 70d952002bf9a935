// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <dtrain/environment.hpp>

namespace dtrain::launch {

/// A step of a Slurm job, by the name that srun gave it: its number is known to Slurm only.
struct SlurmStep {
    std::string job_id;
    std::string name;
};

/// The id ("12.3") of the step with this name among the lines "ID NAME" that squeue prints, if it is there.
/// Pure.
std::optional<std::string> find_step(std::string_view squeue_output, const std::string& name);

/// Ends a step that may have lost its srun: SIGTERM to all its processes, SIGKILL for what is left after the
/// grace time. Returns when the step is gone, or Slurm does not do it within a few seconds more.
void end_step(const SlurmStep& step, std::chrono::milliseconds grace, const Environment& environment);

}  // namespace dtrain::launch
