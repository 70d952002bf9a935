// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <dtrain/environment.hpp>

#include "base/subprocess.hpp"
#include "launch/engine.hpp"
#include "launch/job_state.hpp"

namespace dtrain::launch {

/// A node whose launcher is gone.
struct LostNode {
    int rank = 0;  ///< a rank of it
    std::string reason;
};

/// What wants to be looked after while the job runs: the link to the launchers of other nodes.
struct EventSource {
    int fd = -1;  ///< readable when serve() has something to do
    std::function<void()> serve;
    std::function<int()> asked_to_stop_by;  ///< the signal that a launcher elsewhere got; 0: none
    std::function<std::optional<LostNode>()> lost;
};

class ControlSocket;
class JobMetrics;

struct WatchOptions {
    std::vector<std::string> command;  ///< mpirun or srun, and its arguments
    RankControl control = RankControl::of_mpirun();
    Environment environment;
    int size = 0;                 ///< ranks of the job
    std::set<int> service_ranks;  ///< servers and the like: stopped when all others are done
    std::chrono::milliseconds grace{0};
    std::chrono::milliseconds hang_timeout{0};  ///< after which workers say that a rank is idle; 0: never
    /// Ranks that give signs of life, the first one of each node of several, and the time without one after
    /// which their node counts as lost.
    std::vector<int> heartbeat_ranks;
    std::chrono::milliseconds max_silence{0};
    std::string job_token;
    /// As of a timerfd or eventfd: readable when the job has to stop, and again, or with a count above 1,
    /// when it has to be gone at once; -1: none.
    int stop_fd = -1;
    std::string log_dir;       ///< for the status line
    bool status_line = false;  ///< on stderr, when that is a terminal
    EventSource events;
    ControlSocket* control_socket = nullptr;  ///< where others may ask about the job
    JobMetrics* metrics = nullptr;            ///< to be told what happens; none: nobody serves them
};

struct Watched {
    JobState job;
    ExitStatus engine_status;        ///< of mpirun or srun
    pid_t engine_pid = 0;            ///< of mpirun or srun, which has ended
    int asked_to_stop_by = 0;        ///< signal that this process got; 0: none
    bool killed_at_once = false;     ///< by a second signal or command
    bool commanded_to_stop = false;  ///< by WatchOptions::stop_fd
    std::string engine_text;         ///< what mpirun or srun itself said
    /// The last words of the ranks that were left, when all of them were idle and the job was stopped
    /// therefore.
    std::vector<cluster::Event> hung;
    std::optional<int> lost;  ///< the rank whose node was heard of no more, and the job was stopped therefore
    std::string lost_because;  ///< where its launcher's link tells; "" else
};

/// Runs a job to its end: passes the ranks' console through, collects events, and ends the job in two
/// phases when a rank fails, all ranks hang or a signal asks for it: first every program is stopped, then,
/// when all ranks have told that nothing is left, the workers leave. Every wait for mpirun has an end, and
/// nothing of the job is alive when this returns.
Watched watch(const WatchOptions& options);

}  // namespace dtrain::launch
