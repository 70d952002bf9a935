// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "launch/slurm_step.hpp"

namespace dtrain::launch {

/// What starts the ranks and carries their output and their events.
enum class Engine { mpirun, srun };

std::string to_string(Engine engine);

/// @param wanted by --engine: auto, mpirun or srun
/// @param allocated the job's nodes are those of a Slurm allocation
/// @throws UsageError when srun is wanted and cannot be used
Engine choose_engine(const std::string& wanted, bool allocated, bool has_srun);

/// How the ranks behind a running engine are reached, and what is done when it does not do what it is told.
struct RankControl {
    bool by_lines = false;  ///< commands are lines on the engine's stdin; else signals to it
    int death_signal = 0;   ///< the engine gets it when the launcher dies; 0: the end of its stdin tells
    int at_once = 0;        ///< signal to the engine that ends all ranks without grace
    std::optional<SlurmStep> step;  ///< what is left of the job when the engine is killed

    /// mpirun forwards SIGALRM, USR1 and USR2 in milliseconds, and kills its ranks when it is told to end.
    static RankControl of_mpirun();

    /// srun kills its tasks when it gets TERM, HUP or QUIT and keeps ALRM for itself; USR1 and USR2 would
    /// reach every process of the step, prepared or not. What it reads it copies to all tasks.
    static RankControl of_srun(SlurmStep step);
};

}  // namespace dtrain::launch
