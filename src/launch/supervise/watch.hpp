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
#include "launch/backend/rank_control.hpp"
#include "launch/outcome/hang_report.hpp"
#include "launch/outcome/job_state.hpp"
#include "launch/supervise/supervisor.hpp"

namespace dtrain::launch {

/// An additional source of events while the job runs: the link to the launchers of other nodes.
struct EventSource {
    int fd = -1;  ///< readable when serve() has something to do
    std::function<void()> serve;
    std::function<int()> asked_to_stop_by;  ///< the signal that another node's launcher got; 0: none
    std::function<std::optional<LostNode>()> lost;
};

class ControlSocket;
class JobMetrics;

struct WatchOptions {
    std::vector<std::string> command;  ///< the launch backend with its arguments
    RankControl control;
    Environment environment;
    int size = 0;                    ///< ranks of the job
    std::vector<std::string> hosts;  ///< of the ranks, by the plan
    std::set<int> service_ranks;     ///< e.g. servers; they are stopped when all others are done
    std::chrono::milliseconds grace{0};
    std::chrono::milliseconds hang_timeout{0};  ///< after which workers report a rank as idle; 0: never
    bool only_reports_hangs = false;            ///< on stderr, and the job goes on
    /// Ranks that send heartbeats: the first one of each node, in a job on several nodes. A node counts as
    /// lost after `max_silence` without a heartbeat.
    std::vector<int> heartbeat_ranks;
    std::chrono::milliseconds max_silence{0};
    std::string job_token;
    /// A timerfd or eventfd: readable when the job has to stop; when it is readable again, or with a count
    /// above 1, the job has to be killed at once; -1: none.
    int stop_fd = -1;
    std::string log_dir;       ///< for the status line
    bool status_line = false;  ///< on stderr, when that is a terminal
    EventSource events;
    ControlSocket* control_socket = nullptr;  ///< where clients may ask about the job
    JobMetrics* metrics = nullptr;            ///< updated with the job's events; null without metrics
};

struct Watched {
    JobState job;
    ExitStatus engine_status;        ///< of the launch backend
    pid_t engine_pid = 0;            ///< pid of the launch backend, which has ended
    int asked_to_stop_by = 0;        ///< signal that this process got; 0: none
    bool killed_at_once = false;     ///< by a second signal or command
    bool commanded_to_stop = false;  ///< by WatchOptions::stop_fd
    std::string engine_text;         ///< messages of the launch backend itself
    /// If the job was stopped because all remaining ranks were idle: their last events.
    std::vector<cluster::Event> hung;
    std::vector<ReportedHang> reported_hangs;  ///< while it went on, and ranks that did not start
    std::optional<int> lost;   ///< if the job was stopped because a node was lost: a rank of that node
    std::string lost_because;  ///< the reason, if the link to its launcher tells; else ""
};

/// Runs a job until it ends: forwards the ranks' console output, collects events, and ends the job in two
/// phases if a rank fails, all ranks hang or a signal asks for it: first every program is stopped; then, when
/// all ranks have reported that nothing is left, the workers leave. Every wait for mpirun has a deadline, and
/// no process of the job is alive when this returns.
Watched watch(const WatchOptions& options);

}  // namespace dtrain::launch
