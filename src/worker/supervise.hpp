// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "protocol/event.hpp"
#include "worker/commands.hpp"
#include "worker/guard.hpp"
#include "worker/hang_watch.hpp"
#include "worker/log_follower.hpp"
#include "worker/operations_folder.hpp"
#include "worker/rank_error_file.hpp"
#include "worker/rotating_log.hpp"
#include "worker/stacks_on_demand.hpp"

namespace dtrain::worker {

/// A log that is copied to the console while it grows.
struct ShownLog {
    std::filesystem::path log;
    ConsoleStyle style;
    bool as_errors = false;  ///< on dtrain-launch's stderr; not set: on its stdout
};

struct Supervision {
    GuardedProgram program;                  ///< its output is not set if there is a bounded_log
    std::filesystem::path log;               ///< where the program's output is
    std::optional<RotatingLog> bounded_log;  ///< receives the output through a pipe
    int rank = 0;
    std::string host;
    std::string cpus;  ///< the program's affinity mask
    std::filesystem::path
        other_log;                 ///< where its stdout is, if `log` has its stderr only; "": there is none
    std::vector<ShownLog> shown;   ///< what is on the console
    bool shows_by_events = false;  ///< all of it, and not by this process's stdout
    Commands::Source commands_from = Commands::Source::signals;
    bool under_launcher = false;             ///< dtrain-launch receives events and decides when workers leave
    std::chrono::milliseconds heartbeat{0};  ///< interval of heartbeats; 0: none are sent
    /// These two are named in the program's environment; none: it has none. The folder of temporary files is
    /// cleaned first, since mpirun may kill a worker that ends.
    std::optional<OperationsFolder> operations;
    std::optional<RankErrorFile> error_file;
    std::optional<HangWatch> hang_watch;
    std::optional<StacksOnDemand> stacks;  ///< on request of dtrain-launch
    /// Inspects the GPUs that a program with this environment sees, for all ranks of the node.
    bool inspects_gpus = false;
    /// Reports GPU errors in the kernel log at once, for all ranks of the node.
    bool warns_of_xids = false;
    /// Reports the utilization of this rank's GPUs.
    bool watches_gpus = false;
    std::function<void(const cluster::Event&)> report;
    /// Notifies the other ranks that this one has failed, if no launcher does that; may be empty.
    std::function<void()> notify_others;
};

/// Supervises the program of one rank: starts it under a guard, shows its log, forwards signals, and returns
/// once all its processes are gone. Returns the exit status: the program's, 128 + signal if it was killed.
///
/// Commands: those for the program are passed on to it. "end" stops it (same signal, SIGKILL after the grace
/// time). "give way" stops it too, and the worker exits with 0, since another rank has failed. Under
/// dtrain-launch a worker whose program failed or was stopped reports that and stays until it is told to
/// leave (status 0: the launcher determines the job's status), so that mpirun or srun does not kill the other
/// ranks during their grace time.
int supervise(Supervision supervision);

/// Under dtrain-launch, once all processes of the program are gone: repeats the report every second until the
/// command "leave" comes (status 0), or "end", which means that the connection to the launcher is lost (128 +
/// signal).
int wait_until_released(const cluster::Event& outcome,
                        const std::function<void(const cluster::Event&)>& report, Commands& commands);

}  // namespace dtrain::worker
