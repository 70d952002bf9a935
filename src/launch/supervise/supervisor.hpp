// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "launch/outcome/job_state.hpp"
#include "protocol/command.hpp"

/// What the launcher does while a job runs: when it stops the ranks, in which steps, and when it no longer
/// waits. Pure: no processes, no clock.
namespace dtrain::launch {

using TimePoint = std::chrono::steady_clock::time_point;

/// For processes that answer at once but run on a busy machine.
inline constexpr std::chrono::milliseconds answer_margin{3000};

/// A node whose launcher is lost.
struct LostNode {
    int rank = 0;  ///< a rank of the node
    std::string reason;
};

struct SupervisionLimits {
    bool by_lines = false;  ///< commands are lines on the launch backend's stdin; else signals to it
    int at_once = 0;        ///< signal to the backend that ends all ranks without grace
    std::chrono::milliseconds grace{0};
    std::chrono::milliseconds hang_timeout{0};  ///< after which workers report a rank as idle; 0: never
    bool only_reports_hangs = false;            ///< once each, and the job goes on
    std::vector<int> heartbeat_ranks;           ///< ranks whose silence means that their node is lost
    std::chrono::milliseconds max_silence{0};
};

/// What has been asked of the launcher, and what the link to other nodes knows.
struct Requests {
    int asked_to_stop_by = 0;        ///< signal that asks the job to stop; 0: none
    bool commanded_to_stop = false;  ///< by another part of the launcher
    bool kill_now = false;           ///< without grace
    std::optional<LostNode> lost;
};

/// What to do next with the launch backend.
struct SignalBackend {
    int number = 0;
    friend bool operator==(const SignalBackend&, const SignalBackend&) = default;
};
struct WriteCommand {
    cluster::Command command;
    friend bool operator==(const WriteCommand&, const WriteCommand&) = default;
};
struct WriteKeepalive {
    friend bool operator==(const WriteKeepalive&, const WriteKeepalive&) = default;
};
struct ReportHang {
    std::vector<cluster::Event> hung;  ///< the last idle event of each rank that has not ended
    friend bool operator==(const ReportHang&, const ReportHang&) = default;
};
/// What was reported is over.
struct ReportEndOfHang {
    std::chrono::milliseconds lasted{0};  ///< since it was reported
    friend bool operator==(const ReportEndOfHang&, const ReportEndOfHang&) = default;
};
/// Ranks have not started so long after the last one that has.
struct ReportUnstarted {
    std::chrono::milliseconds waited{0};
    friend bool operator==(const ReportUnstarted&, const ReportUnstarted&) = default;
};
/// All ranks have started after all.
struct ReportLateStart {
    std::chrono::milliseconds lasted{0};  ///< since it was reported
    friend bool operator==(const ReportLateStart&, const ReportLateStart&) = default;
};
/// The job is stopped because it hung, and that takes long.
struct ReportSlowStop {
    std::vector<cluster::Event> hung;  ///< as in ReportHang
    std::vector<int> left;             ///< ranks that have not ended
    friend bool operator==(const ReportSlowStop&, const ReportSlowStop&) = default;
};
using Action = std::variant<SignalBackend, WriteCommand, WriteKeepalive, ReportHang, ReportEndOfHang,
                            ReportUnstarted, ReportLateStart, ReportSlowStop>;

/// Decides what happens to a running job. Every phase but the first has a deadline, after which the next,
/// more forceful one follows.
class Supervisor {
  public:
    enum class Phase {
        running,
        stopping,  ///< the programs were asked to stop
        leaving,   ///< the workers were asked to exit, or the backend ends them
        killing,
    };

    Supervisor(SupervisionLimits limits, TimePoint now);

    /// A rank has been heard of.
    void heard(int rank, TimePoint now);

    /// Sends a command to all ranks: as a line with the next step, as a signal once they have started.
    void notify(const cluster::Command& command);

    /// What to do now, in this order.
    /// @param job changed if ranks are asked to stop
    std::vector<Action> step(JobState& job, const Requests& asked, TimePoint now);

    /// When step() is needed again if nothing happens before; nothing: never.
    std::optional<TimePoint> next_step(const JobState& job, TimePoint now) const;

    Phase phase() const { return phase_; }
    bool killed_at_once() const { return killed_at_once_; }
    /// If the job was stopped because all remaining ranks were idle: their last events.
    const std::vector<cluster::Event>& hung() const { return hung_; }
    /// If the job was stopped because a node was lost.
    const std::optional<LostNode>& lost() const { return lost_; }

  private:
    void keep_alive(TimePoint now);
    void note_beginnings(const JobState& job, TimePoint now);
    void send_held_signals(const JobState& job, TimePoint now);
    void decide_while_running(JobState& job, const Requests& asked, TimePoint now);
    std::optional<int> rank_of_lost_node(const JobState& job, TimePoint now);
    void report_unstarted(const JobState& job, TimePoint now);
    void note_no_hang(TimePoint now);
    void take_hang(JobState& job, std::vector<cluster::Event> hung, TimePoint now);
    void stop_programs(JobState& job, TimePoint now);
    void report_slow_stop(const JobState& job, TimePoint now);
    void let_leave(TimePoint now);
    void tell_to_leave(TimePoint now);
    void go_on(Phase phase, std::chrono::milliseconds limit, TimePoint now);
    void end_backend(TimePoint now);
    std::chrono::milliseconds time_to_stop() const { return limits_.grace + answer_margin; }
    bool late(TimePoint now) const { return deadline_ && now >= *deadline_; }

    SupervisionLimits limits_;
    Phase phase_ = Phase::running;
    bool killed_at_once_ = false;
    std::vector<cluster::Event> hung_;
    std::optional<TimePoint> hang_reported_;
    std::optional<TimePoint> hangs_since_;     ///< as far as its launcher knows
    std::optional<TimePoint> report_stop_at_;  ///< of a job that hung, if it has not ended by then
    std::optional<LostNode> lost_;
    std::vector<Action> actions_;          ///< for the next step
    std::map<int, TimePoint> last_heard_;  ///< for the ranks that send heartbeats
    std::vector<int> held_signals_;        ///< for the backend, which forwards them to the ranks
    int begun_ = 0;                        ///< ranks
    TimePoint last_beginning_;             ///< of a rank; of the backend, as long as there is none
    std::optional<TimePoint> unstarted_reported_;
    TimePoint stop_asked_;
    TimePoint next_keepalive_;
    TimePoint leave_from_;
    std::optional<TimePoint> leave_again_at_;
    TimePoint check_lost_from_;
    std::optional<TimePoint> deadline_;
};

}  // namespace dtrain::launch
