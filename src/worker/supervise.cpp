// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/supervise.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <poll.h>
#include <sys/prctl.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/log_files.hpp"
#include "base/oom_watch.hpp"
#include "base/pids_watch.hpp"
#include "base/redact.hpp"
#include "base/text.hpp"
#include "base/wall_clock.hpp"
#include "metrics/run.hpp"
#include "protocol/byte_text.hpp"
#include "topology/gpu_use.hpp"
#include "worker/end_info.hpp"
#include "worker/gpu_inspection.hpp"
#include "worker/log_follower.hpp"
#include "worker/piped_log.hpp"
#include "worker/slow_end.hpp"
#include "worker/state_of_rank.hpp"
#include "worker/xid_watch.hpp"

namespace dtrain::worker {
namespace {

/// Exit status, as of a shell, for a program that could not be executed; 1 if the machine was short of a
/// resource, which is not the program's fault.
int status_of_shell(int error) {
    if (error == ENOENT) return 127;
    return error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE ? 1 : 126;
}

using cluster::Command;
using cluster::Event;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds repeat_after{1};          // an unanswered report is repeated
constexpr int reporting_ranks = 256;                     // their reports are a millisecond apart
constexpr int max_states = 4;                            // mpirun may break a line in two
constexpr int poll_log_ms = 100;                         // polling interval if inotify is unavailable
constexpr std::chrono::milliseconds signals_apart{200};  // of one sender to all processes of a busy machine

/// Minimum of limits for poll(), where -1 means no limit.
int earliest(std::initializer_list<int> limits) {
    int out = -1;
    for (const int limit : limits)
        if (limit >= 0 && (out < 0 || limit < out)) out = limit;
    return out;
}

class Supervisor {
  public:
    explicit Supervisor(Supervision supervision)
        : job_(std::move(supervision)), commands_(job_.commands_from) {
        // If mpirun, orted or slurmstepd dies, nobody else will end this rank.
        ::prctl(PR_SET_PDEATHSIG, SIGTERM);
        ::prctl(PR_SET_CHILD_SUBREAPER, 1);
        ::signal(SIGPIPE, SIG_IGN);
        for (const auto& shown : job_.shown)
            followers_.emplace_back(shown.log, console_for(shown), shown.style);
        if (job_.bounded_log) take_output_through_a_pipe();
        grace_ = job_.program.grace;
        const auto visible = job_.program.environment.get("CUDA_VISIBLE_DEVICES");
        guard_.emplace(std::move(job_.program));
        // These start threads; the guard must be forked before.
        if (job_.inspects_gpus) gpu_inspection_.emplace(visible);
        if (job_.watches_gpus) gpu_watch_.emplace(visible);
    }

    int run() {
        while (!guard_gone_) wait_for_something();
        const bool guard_ended_well = guard_->reap();
        job_.hang_watch.reset();
        if (!guard_ended_well) end_descendants(grace_);
        if (!ended_) read_error();
        if (output_) {
            output_->take_rest();
            report_loss_once();
        }
        for (auto& follower : followers_) follower.drain();
        const Event outcome = outcome_of(guard_ended_well);
        if (gave_way_ && outcome.kind == Event::Kind::stopped) {
            append_line(job_.log,
                        "stopped by dtrain-worker after another rank failed; srun's output names it");
            return 0;
        }
        job_.report(outcome);
        if (outcome.kind == Event::Kind::exited || outcome.kind == Event::Kind::issue) notify_others_once();
        if (outcome.kind == Event::Kind::done) return 0;
        if (asked_to_leave_ && launcher_waits_) return 0;
        if (job_.under_launcher && launcher_waits_)
            return wait_until_released(outcome, job_.report, commands_);
        return ExitStatus{.code = outcome.code, .signal = outcome.signal}.shell_status();
    }

  private:
    void take_output_through_a_pipe() {
        output_.emplace(std::move(*job_.bounded_log));
        job_.program.output = output_->take_write_end();
        output_->log().on_rotation([this] {
            for (auto& follower : followers_) follower.note_rotation();
        });
    }

    Console console_for(const ShownLog& shown) {
        if (shown.as_errors || job_.shows_by_events) return of_the_launcher(shown.as_errors);
        return Console::of(STDOUT_FILENO);
    }

    /// What dtrain-launch shows: on its stdout byte for byte, on its stderr as text. mpirun's and srun's
    /// stderr has the events.
    Console of_the_launcher(bool as_errors) {
        const auto write = [this, as_errors](std::string_view bytes) {
            while (!bytes.empty()) {
                const auto piece = cluster::piece_to_show(bytes);
                auto event = new_event(Event::Kind::console);
                if (!as_errors) event.code = STDOUT_FILENO;
                event.text = as_errors ? std::string(piece) : cluster::text_of_bytes(piece);
                job_.report(event);
                bytes.remove_prefix(piece.size());
            }
            return true;
        };
        return {.fd = STDERR_FILENO, .write = write};
    }

    void wait_for_something() {
        const bool watching = job_.hang_watch && program_ && !ended_ && !stop_signal_;
        const bool console_needs_time =
            output_ && std::ranges::any_of(followers_, [](const auto& each) { return each.needs_time(); });
        const auto commands = commands_.sources();
        std::vector<pollfd> sources{
            {guard_->fd(), POLLIN, 0},
            {output_ && !console_needs_time ? output_->fd() : -1, POLLIN, 0},
            {watching ? job_.hang_watch->stacks_fd() : -1, POLLIN, 0},
            {job_.stacks ? job_.stacks->fd() : -1, POLLIN, 0},
            {gpu_inspection_ ? gpu_inspection_->fd() : -1, POLLIN, 0},
            commands[0],
            commands[1],
            {xid_watch_.fd(), POLLIN, 0},
        };
        const auto of_followers = sources.size();
        int ms_to_unfinished_line = -1;
        const bool started = program_.has_value();
        for (const auto& follower : followers_) {
            sources.push_back({started ? follower.growth_fd() : -1, POLLIN, 0});
            sources.push_back({follower.wants_to_write() ? follower.console_fd() : -1, POLLOUT, 0});
            ms_to_unfinished_line = earliest({ms_to_unfinished_line, follower.ms_to_unfinished_line()});
        }
        ::poll(sources.data(), sources.size(),
               earliest({commands_.ms_to_next_poll(),
                         console_needs_time ? static_cast<int>(LogFollower::timeout.count()) : -1,
                         watching ? job_.hang_watch->ms_to_next_poll() : -1, ms_to_heartbeat(),
                         slow_end_.ms_to_warning(Clock::now()), unwatched_console() ? poll_log_ms : -1,
                         ms_to_unfinished_line}));
        take_commands();
        // A program may write before its guard has told that it runs; who reads the events learns that first.
        for (std::size_t index = 0; started && index < followers_.size(); ++index) {
            auto& follower = followers_[index];
            const auto* polled = &sources[of_followers + 2 * index];
            if (polled[0].revents != 0 || follower.growth_fd() < 0 || follower.ms_to_unfinished_line() == 0)
                follower.note_growth();
            if (polled[1].revents != 0) follower.write_piece();
        }
        if (sources[1].revents != 0) {
            output_->take_piece();
            report_loss_once();
        }
        if ((sources[7].revents & POLLIN) != 0)
            note_xids();
        else if (sources[7].revents != 0)
            xid_watch_.end();
        if (watching) check_for_hang();
        if (sources[3].revents != 0) report_stacks();
        if (sources[4].revents != 0) warn_of_gpus();
        if (auto slow = slow_end_.warning(guard_->pid(), Clock::now()); !slow.empty()) warn(std::move(slow));
        if (ms_to_heartbeat() == 0) {
            last_heartbeat_ = Clock::now();
            job_.report(new_event(Event::Kind::alive));
        }
        if (sources[0].revents != 0) take_event();
    }

    void report(Event::Kind kind, std::string text) {
        auto event = new_event(kind);
        event.text = std::move(text);
        job_.report(event);
    }

    void warn(std::string warning) { report(Event::Kind::warning, std::move(warning)); }

    void warn_of_gpus() {
        for (auto& warning : gpu_inspection_->take()) warn(std::move(warning));
    }

    void note_xids() {
        for (auto& fact : new_xid_info(xids_, xid_watch_.take()))
            if (job_.warns_of_xids) report(Event::Kind::gpu_error, std::move(fact));
    }

    void report_use_of_gpus() {
        if (!gpu_watch_) return;
        const auto use = gpu_watch_->use();
        if (use == topology::GpuUse{}) return;
        auto event = new_event(Event::Kind::gpus);
        event.text = metrics::gpus_text({job_.rank, use.utilization, use.watts, use.memory, use.celsius});
        job_.report(event);
    }

    int ms_to_heartbeat() const {
        if (job_.heartbeat.count() == 0) return -1;
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(last_heartbeat_ + job_.heartbeat - Clock::now());
        return static_cast<int>(std::max<long>(left.count(), 0));
    }

    bool unwatched_console() const {
        return std::ranges::any_of(followers_, [](const auto& each) { return each.growth_fd() < 0; });
    }

    void report_loss_once() {
        const int error = output_->log().first_error();
        if (error == 0 || loss_reported_) return;
        loss_reported_ = true;
        warn(fmt::format("output is lost, cannot write {}: {}", job_.log.string(), std::strerror(error)));
    }

    void check_for_hang() {
        const auto found = job_.hang_watch->poll(guard_->pid(), *program_, output_so_far());
        if (!found) return;
        if (!found->problem.empty()) warn(found->problem);
        const bool repeated = std::exchange(reported_idle_, found->idle) == found->idle;
        if (repeated && !job_.under_launcher) return;
        if (!repeated || found->is_new) states_sent_ = 0;
        if (found->idle && job_.under_launcher && states_sent_++ < max_states) {
            auto state_event = new_event(Event::Kind::state);
            state_event.state =
                to_json(with_calls(state(found->kind), found->where), cluster::max_event_state);
            job_.report(state_event);
        }
        auto event = new_event(found->idle ? Event::Kind::idle : Event::Kind::active);
        event.pid = *program_;
        event.code = static_cast<int>(found->kind);
        event.idle_ms = found->idle_time.count();
        event.text = found->where.top;
        if (const auto info = xid_info(xids_); !info.empty())
            event.text =
                fmt::format("{}; {}", event.text.empty() ? "an unknown place" : event.text, join(info, "; "));
        job_.report(event);
    }

    /// Includes what the console has shown: a program that waits for the console is not idle.
    std::uintmax_t output_so_far() {
        if (!output_) return size_or_zero(job_.log) + size_or_zero(job_.other_log);
        auto bytes = output_->log().bytes_taken();
        for (const auto& follower : followers_) bytes += follower.bytes_shown();
        return bytes;
    }

    void take_event() {
        const auto guard_event = guard_->read_event();
        if (!guard_event) {
            guard_gone_ = true;
            return;
        }
        switch (guard_event->kind) {
            case GuardEvent::Kind::started: {
                program_ = guard_event->pid;
                auto event = new_event(Event::Kind::started);
                event.pid = guard_event->pid;
                event.cpus = job_.cpus;
                job_.report(event);
                break;
            }
            case GuardEvent::Kind::cannot_execute:
                cannot_execute_ = guard_event->error;
                break;
            case GuardEvent::Kind::ended: {
                ended_us_ = now_us();
                const auto end = ExitStatus::of_wait(guard_event->wait_status);
                if (end.shell_status() == 128 + SIGTERM) await_own_signal();
                ended_ = end;
                slow_end_.begin(grace_, Clock::now());
                report_use_of_gpus();
                note_xids();
                if (!ended_->success()) read_error();
                if (!ended_->success() && !stop_signal_)
                    info_ = end_diagnosis(*ended_, oom_watch_.kills_since(), xids_, shared_memory(),
                                          pids_watch_.reached_since(), disk_full_message(job_.log),
                                          unreadable_error_);
                if (!stop_signal_ && !cannot_execute_ && !ended_->success() && job_.under_launcher)
                    job_.report(failure());  // at once: ending its tree may take the whole grace time
                if (!stop_signal_ && !cannot_execute_ && !ended_->success()) notify_others_once();
                break;
            }
        }
    }

    /// Slurm ends a job by a signal to each of its processes in turn, and the program may be before the
    /// worker.
    void await_own_signal() {
        const auto until = Clock::now() + signals_apart;
        while (!stop_signal_ && Clock::now() < until) {
            commands_.wait(std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()));
            take_commands();
        }
    }

    /// What a program that ends with 0 has left is not why it ended.
    void read_error() {
        if (!job_.error_file) return;
        auto [error, issue] = job_.error_file->read();
        if (!issue.empty()) unreadable_error_ = "its error file cannot be read: " + issue;
        if (!error) return;
        error->message = redacted_text(error->message);
        error->rank = job_.rank;
        error->host = job_.host;
        error_ = to_json(*error, cluster::max_event_error);
    }

    /// If all ranks fail for the same reason, one notification is enough.
    void notify_others_once() {
        if (!job_.notify_others || std::exchange(others_know_, true)) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(job_.rank % reporting_ranks));
        take_commands();
        if (!gave_way_) job_.notify_others();
    }

    void take_commands() {
        for (const auto& command : commands_.take()) {
            switch (command.kind) {
                case Command::Kind::pass_on:
                    guard_->forward(command.signal);
                    break;
                case Command::Kind::stop:
                    stop(SIGTERM);
                    break;
                case Command::Kind::show_stacks:
                    show_stacks();
                    break;
                case Command::Kind::leave:
                    asked_to_leave_ = true;
                    stop(SIGTERM);
                    break;
                case Command::Kind::give_way:
                    gave_way_ = true;
                    stop(SIGTERM);
                    break;
                case Command::Kind::end:
                    launcher_waits_ = false;
                    stop(command.signal);
                    break;
            }
        }
    }

    /// The requester waits for an answer from every rank.
    void show_stacks() {
        if (!job_.stacks) return;
        if (program_ && !ended_ && !stop_signal_)
            job_.stacks->begin(guard_->pid(), *program_, state(std::nullopt));
        else
            job_.report(new_event(Event::Kind::stacks_end));
    }

    void report_stacks() {
        for (auto& event : job_.stacks->finish(new_event(Event::Kind::stacks))) job_.report(event);
    }

    trace::RankState state(std::optional<cluster::Inactivity> inactivity) const {
        return state_of_rank(
            {.rank = job_.rank,
             .host = job_.host,
             .guard = guard_->pid(),
             .program = *program_,
             .operations = job_.operations ? job_.operations->path() : std::filesystem::path()},
            inactivity);
    }

    void stop(int signal) {
        if (!stop_signal_ && !ended_) stop_signal_ = signal;
        slow_end_.begin(grace_, Clock::now());
        guard_->stop(signal);
    }

    Event new_event(Event::Kind kind) const {
        return {.kind = kind, .rank = job_.rank, .host = job_.host, .time_us = now_us()};
    }

    Event failure() const {
        auto event = new_event(Event::Kind::exited);
        event.code = ended_->code;
        event.signal = ended_->signal;
        event.time_us = ended_us_;
        event.text = info_;
        event.error = error_;
        return event;
    }

    Event outcome_of(bool guard_ended_well) const {
        if (cannot_execute_) {
            auto event = new_event(Event::Kind::issue);
            event.code = status_of_shell(*cannot_execute_);
            event.text = fmt::format("cannot execute the program: {}", std::strerror(*cannot_execute_));
            if (const auto reached = pids_watch_.reached_since()) event.text += "; " + *reached;
            return event;
        }
        if (!ended_) {
            auto event = new_event(stop_signal_ ? Event::Kind::stopped : Event::Kind::issue);
            event.signal = SIGKILL;
            event.text = guard_ended_well ? "the program vanished" : "its guard process was killed";
            event.error = error_;
            return event;
        }
        if (stop_signal_) {
            auto event = failure();
            event.kind = Event::Kind::stopped;
            if (ended_->success()) event.signal = *stop_signal_;
            return event;
        }
        return ended_->success() ? new_event(Event::Kind::done) : failure();
    }

    Supervision job_;
    OomWatch oom_watch_;
    PidsWatch pids_watch_;
    XidWatch xid_watch_;
    std::vector<topology::Xid> xids_;  ///< logged since the program was started
    std::optional<GpuInspection> gpu_inspection_;
    std::optional<topology::GpuWatch> gpu_watch_;
    Commands commands_;
    std::vector<LogFollower> followers_;
    std::optional<PipedLog> output_;
    std::optional<Guard> guard_;
    std::optional<pid_t> program_;
    std::chrono::milliseconds grace_{0};
    SlowEnd slow_end_;
    bool guard_gone_ = false;
    bool loss_reported_ = false;
    bool reported_idle_ = false;
    int states_sent_ = 0;  ///< since it became idle
    bool launcher_waits_ = true;
    bool asked_to_leave_ = false;
    bool gave_way_ = false;
    bool others_know_ = false;
    Clock::time_point last_heartbeat_ = Clock::now();
    std::optional<int> cannot_execute_;
    std::optional<int> stop_signal_;
    std::optional<ExitStatus> ended_;
    std::int64_t ended_us_ = 0;
    std::string info_;
    std::string error_;  ///< the program's own, as in an event
    std::optional<std::string> unreadable_error_;
};

}  // namespace

int wait_until_released(const Event& outcome, const std::function<void(const Event&)>& report,
                        Commands& commands) {
    for (;;) {
        if (!commands.wait(repeat_after)) report(outcome);
        for (const auto& command : commands.take()) {
            if (command.kind == Command::Kind::leave) return 0;
            if (command.kind == Command::Kind::end) return 128 + command.signal;
            if (command.kind == Command::Kind::stop) report(outcome);
        }
    }
}

int supervise(Supervision supervision) {
    return Supervisor(std::move(supervision)).run();
}

}  // namespace dtrain::worker
