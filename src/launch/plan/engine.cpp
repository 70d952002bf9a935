// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/plan/engine.hpp"

#include <csignal>
#include <utility>

#include <dtrain/error.hpp>

namespace dtrain::launch {

std::string to_string(Engine engine) {
    return engine == Engine::mpirun ? "mpirun" : "srun";
}

Engine choose_engine(const std::string& wanted, bool allocated, bool has_srun) {
    if (wanted == "mpirun") return Engine::mpirun;
    if (wanted == "srun" && !has_srun)
        throw UsageError("--engine srun: srun is not in PATH; load Slurm's module, or use --engine mpirun");
    if (wanted == "srun" && !allocated)
        throw UsageError(
            "--engine srun: srun starts ranks on the nodes of an allocation only; start dtrain-launch in "
            "sbatch or "
            "salloc, without --ips and --hostfile");
    return allocated && has_srun ? Engine::srun : Engine::mpirun;
}

RankControl RankControl::of_mpirun() {
    return {.by_lines = false, .death_signal = SIGTERM, .at_once = SIGKILL, .step = std::nullopt};
}

RankControl RankControl::of_srun(SlurmStep step) {
    return {.by_lines = true, .death_signal = 0, .at_once = SIGTERM, .step = std::move(step)};
}

}  // namespace dtrain::launch
