// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "launch/slurm_step.hpp"

namespace dtrain::launch {

/// The launch backend: starts the ranks and forwards their output and their events.
enum class Engine { mpirun, srun };

std::string to_string(Engine engine);

/// @param wanted value of --engine: auto, mpirun or srun
/// @param allocated whether the job's nodes are those of a Slurm allocation
/// @throws UsageError if srun is wanted and cannot be used
Engine choose_engine(const std::string& wanted, bool allocated, bool has_srun);

/// How to control the ranks behind a running launch backend, and what to do if it does not obey.
struct RankControl {
    bool by_lines = false;          ///< commands are lines on the backend's stdin; else signals to it
    int death_signal = 0;           ///< sent to the backend when the launcher dies; 0: its stdin ends instead
    int at_once = 0;                ///< signal to the backend that ends all ranks without grace
    std::optional<SlurmStep> step;  ///< the job step that must be ended if the backend is killed

    /// mpirun forwards SIGALRM, USR1 and USR2 within milliseconds, and kills its ranks if told to end.
    static RankControl of_mpirun();

    /// srun kills its tasks on TERM, HUP or QUIT and keeps ALRM for itself; USR1 and USR2 would reach every
    /// process of the step, even without a handler. srun copies its stdin to all tasks.
    static RankControl of_srun(SlurmStep step);
};

}  // namespace dtrain::launch
