// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/supervise/supervisor.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

namespace dtrain::launch {
namespace {

using cluster::Command;
using std::chrono::milliseconds;

constexpr milliseconds between_signals{50};   // two equal signals closer together may be merged
constexpr milliseconds max_start{3000};       // for the next worker to start
constexpr milliseconds engine_cleanup{3000};  // time that mpirun 4.1 needs to kill ranks that ignore SIGTERM
constexpr milliseconds between_loss_checks{1000};
constexpr milliseconds between_orders_to_leave{1000};
constexpr milliseconds max_wait_for_states{5000};
constexpr milliseconds short_stop{2000};  // afterwards nobody shall wait for the report to know why

/// Tells a worker first to stop its program, then to leave.
constexpr int signal_to_stop = SIGALRM;

/// The signal for a command that the backend forwards to its ranks.
int signal_of(const Command& command) {
    if (command.kind == Command::Kind::pass_on) return command.signal;
    return command.kind == Command::Kind::show_stacks ? SIGABRT : signal_to_stop;
}

bool failed_by_itself(const JobState& job) {
    return std::ranges::any_of(job.failures(), [](const cluster::Event& event) {
        return event.kind != cluster::Event::Kind::stopped;
    });
}

/// Ranks tell what they do just before they are idle; a line of theirs may be lost, and comes again.
bool knows_what_they_do(const JobState& job, const std::vector<cluster::Event>& hung) {
    return std::ranges::none_of(hung, [&](const auto& event) { return job.state_of(event.rank).empty(); });
}

}  // namespace

Supervisor::Supervisor(SupervisionLimits limits, TimePoint now)
    : limits_(std::move(limits)), last_beginning_(now), next_keepalive_(now) {
    for (const int rank : limits_.heartbeat_ranks) last_heard_[rank] = now;
}

void Supervisor::heard(int rank, TimePoint now) {
    if (const auto known = last_heard_.find(rank); known != last_heard_.end()) known->second = now;
}

void Supervisor::notify(const Command& command) {
    if (limits_.by_lines) {
        actions_.emplace_back(WriteCommand{command});
        return;
    }
    held_signals_.push_back(signal_of(command));
}

std::vector<Action> Supervisor::step(JobState& job, const Requests& asked, TimePoint now) {
    keep_alive(now);
    note_beginnings(job, now);
    send_held_signals(job, now);
    if (asked.kill_now && !std::exchange(killed_at_once_, true)) {
        actions_.emplace_back(SignalBackend{limits_.at_once});
        go_on(Phase::killing, engine_cleanup, now);
    }
    report_slow_stop(job, now);
    switch (phase_) {
        case Phase::running:
            report_unstarted(job, now);
            decide_while_running(job, asked, now);
            break;
        case Phase::stopping:
            if (begun_ == 0 && now >= stop_asked_ + max_start)
                end_backend(now);
            else if ((job.all_ended() || late(now)) && now >= leave_from_)
                let_leave(now);
            break;
        case Phase::leaving:
            if (late(now))
                end_backend(now);
            else if (leave_again_at_ && now >= *leave_again_at_)
                tell_to_leave(now);
            break;
        case Phase::killing:
            if (late(now)) actions_.emplace_back(SignalBackend{SIGKILL});
            break;
    }
    send_held_signals(job, now);
    return std::exchange(actions_, {});
}

void Supervisor::decide_while_running(JobState& job, const Requests& asked, TimePoint now) {
    if (job.all_done())
        go_on(Phase::leaving, answer_margin, now);
    else if (asked.asked_to_stop_by != 0 || asked.commanded_to_stop || failed_by_itself(job))
        stop_programs(job, now);
    else if (job.work_done())  // the servers have no work left
        stop_programs(job, now);
    else if (job.any_failed())  // mpirun is already stopping the ranks and must not be disturbed
        go_on(Phase::leaving, limits_.grace + engine_cleanup, now);
    else if (asked.lost) {  // mpirun has noticed the loss, too, and is stopping the ranks
        lost_ = asked.lost;
        go_on(Phase::leaving, limits_.grace + engine_cleanup, now);
    } else if (const auto rank = rank_of_lost_node(job, now)) {
        lost_ = LostNode{.rank = *rank, .reason = {}};
        go_on(Phase::leaving, milliseconds{0}, now);
    } else if (auto hung = job.hung(limits_.hang_timeout); !hung.empty()) {
        take_hang(job, std::move(hung), now);
    } else {
        note_no_hang(now);
    }
}

void Supervisor::take_hang(JobState& job, std::vector<cluster::Event> hung, TimePoint now) {
    if (!hangs_since_) hangs_since_ = now;
    if (!knows_what_they_do(job, hung) && now - *hangs_since_ < max_wait_for_states) return;
    if (limits_.only_reports_hangs) {
        if (!hang_reported_) actions_.emplace_back(ReportHang{std::move(hung)});
        hang_reported_ = hang_reported_.value_or(now);
        return;
    }
    hung_ = std::move(hung);
    report_stop_at_ = now + short_stop;
    stop_programs(job, now);
}

void Supervisor::report_slow_stop(const JobState& job, TimePoint now) {
    if (!report_stop_at_ || now < *report_stop_at_) return;
    report_stop_at_.reset();
    std::vector<int> left;
    for (int rank = 0; rank < job.size(); ++rank)
        if (job.start_of(rank) && !job.end_of(rank)) left.push_back(rank);
    if (!left.empty()) actions_.emplace_back(ReportSlowStop{.hung = hung_, .left = std::move(left)});
}

void Supervisor::report_unstarted(const JobState& job, TimePoint now) {
    if (!job.all_have_started()) {
        if (unstarted_reported_ || now < last_beginning_ + slow_start) return;
        unstarted_reported_ = now;
        actions_.emplace_back(
            ReportUnstarted{std::chrono::duration_cast<milliseconds>(now - last_beginning_)});
    } else if (const auto reported = std::exchange(unstarted_reported_, std::nullopt)) {
        actions_.emplace_back(ReportLateStart{std::chrono::duration_cast<milliseconds>(now - *reported)});
    }
}

void Supervisor::note_no_hang(TimePoint now) {
    hangs_since_.reset();
    if (const auto reported = std::exchange(hang_reported_, std::nullopt))
        actions_.emplace_back(ReportEndOfHang{std::chrono::duration_cast<milliseconds>(now - *reported)});
}

/// Ranks that receive nothing end themselves, assuming that their launcher or network is gone.
void Supervisor::keep_alive(TimePoint now) {
    if (!limits_.by_lines || now < next_keepalive_) return;
    actions_.emplace_back(WriteKeepalive{});
    next_keepalive_ = now + cluster::keepalive_interval;
}

void Supervisor::note_beginnings(const JobState& job, TimePoint now) {
    if (begun_ == job.begun()) return;
    begun_ = job.begun();
    last_beginning_ = now;
}

/// A worker that starts later does not get the signal, and one that has just been created is killed by it
/// before it can report anything.
void Supervisor::send_held_signals(const JobState& job, TimePoint now) {
    if (held_signals_.empty()) return;
    if (!job.all_have_started() && (begun_ == 0 || now < last_beginning_ + max_start)) return;
    for (const int signal : std::exchange(held_signals_, {})) {
        actions_.emplace_back(SignalBackend{signal});
        if (signal == signal_to_stop && phase_ == Phase::stopping) deadline_ = now + time_to_stop();
    }
    leave_from_ = now + between_signals;
}

/// A node counts from its rank's first event on; before that it is starting. Checked once a second, since a
/// job of 10,000 nodes has many events to read in between.
std::optional<int> Supervisor::rank_of_lost_node(const JobState& job, TimePoint now) {
    if (now < check_lost_from_) return std::nullopt;
    check_lost_from_ = now + between_loss_checks;
    for (const auto& [rank, heard] : last_heard_)
        if (job.start_of(rank) && !job.end_of(rank) && now - heard > limits_.max_silence) return rank;
    return std::nullopt;
}

void Supervisor::stop_programs(JobState& job, TimePoint now) {
    job.stop_asked();
    stop_asked_ = now;
    leave_from_ = now + between_signals;
    notify({.kind = Command::Kind::stop});
    go_on(Phase::stopping, time_to_stop(), now);
}

/// A rank that failed by itself counts as ended while its guard still ends the remaining processes of its
/// program: the programs' grace time continues.
void Supervisor::let_leave(TimePoint now) {
    const auto promised = *deadline_;
    tell_to_leave(now);
    go_on(Phase::leaving, answer_margin, now);
    deadline_ = std::max(*deadline_, promised);
}

/// On a busy machine the signal may reach a worker that has not read the one before it: they merge.
void Supervisor::tell_to_leave(TimePoint now) {
    notify({.kind = Command::Kind::leave});
    if (!limits_.by_lines) leave_again_at_ = now + between_orders_to_leave;
}

void Supervisor::end_backend(TimePoint now) {
    actions_.emplace_back(SignalBackend{SIGTERM});
    go_on(Phase::killing, engine_cleanup, now);
}

void Supervisor::go_on(Phase phase, milliseconds limit, TimePoint now) {
    phase_ = phase;
    deadline_ = now + limit;
}

std::optional<TimePoint> Supervisor::next_step(const JobState& job, TimePoint now) const {
    std::optional<TimePoint> next;
    const auto also_at = [&](TimePoint at) { next = std::min(next.value_or(at), at); };
    const bool only_spacing = phase_ == Phase::stopping && job.all_ended();
    if (deadline_) also_at(only_spacing ? leave_from_ : *deadline_);
    if (!held_signals_.empty() && begun_ > 0) also_at(last_beginning_ + max_start);
    if (phase_ == Phase::stopping && begun_ == 0) also_at(stop_asked_ + max_start);
    if (phase_ == Phase::running && !job.all_have_started() && !unstarted_reported_)
        also_at(last_beginning_ + slow_start);
    if (!last_heard_.empty() && !deadline_) also_at(now + between_loss_checks);
    if (limits_.by_lines) also_at(next_keepalive_);
    if (report_stop_at_) also_at(*report_stop_at_);
    if (leave_again_at_ && phase_ == Phase::leaving) also_at(*leave_again_at_);
    if (hangs_since_ && !hang_reported_ && phase_ == Phase::running)
        also_at(std::max(now, *hangs_since_ + max_wait_for_states));
    return next;
}

}  // namespace dtrain::launch
