// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "cluster/event.hpp"
#include "worker/commands.hpp"
#include "worker/guard.hpp"
#include "worker/hang_watch.hpp"
#include "worker/rotating_log.hpp"
#include "worker/stacks_on_demand.hpp"

namespace dtrain::worker {

struct Supervision {
    GuardedProgram program;                  ///< without output where there is a bounded_log
    std::filesystem::path log;               ///< where the program's output is
    std::optional<RotatingLog> bounded_log;  ///< gets it through a pipe
    int rank = 0;
    std::string host;
    std::string cpus;  ///< the mask the program has
    /// The output is shown on the console, behind this prefix line by line; an empty one: byte for byte.
    std::optional<std::string> console_prefix;
    Commands::Source commands_from = Commands::Source::signals;
    bool under_launcher = false;  ///< dtrain-launch listens to events and decides when workers leave
    std::chrono::milliseconds heartbeat{0};  ///< between two signs of life; 0: none are given
    std::optional<HangWatch> hang_watch;
    std::optional<StacksOnDemand> stacks;  ///< when dtrain-launch asks for them
    /// Looks after the GPUs that a program with this environment is shown, for all ranks of the node.
    bool inspects_gpus = false;
    /// Tells what the kernel logs of GPUs, at once, for all ranks of the node.
    bool warns_of_xids = false;
    /// Tells how busy the GPUs of this rank were.
    bool watches_gpus = false;
    std::function<void(const cluster::Event&)> report;
    /// Tells the other ranks that this one has failed, where no launcher does; may be none.
    std::function<void()> notify_others;
};

/// The life of one rank around its program: starts it under a guard, shows its log, passes signals on, and
/// ends with everything of it gone. Returns the exit status: the program's, 128 + signal for a killed one.
///
/// Commands: what is for the program is passed on to it; the end stops it (with the same signal, SIGKILL
/// after the grace time). A command to give way stops it too, and the worker leaves with 0: the failure is
/// another rank's. Under dtrain-launch a worker whose program failed or was stopped reports that and stays
/// until it is told to leave (status 0: the launcher knows better), so that mpirun or srun does not kill the
/// others in the middle of their grace.
int supervise(Supervision supervision);

/// Under dtrain-launch, once nothing of the program is left: repeats the report every second until the
/// command to leave comes (status 0), or the end shows that the launcher's chain is broken (128 + signal).
int wait_until_released(const cluster::Event& outcome,
                        const std::function<void(const cluster::Event&)>& report, Commands& commands);

}  // namespace dtrain::worker
