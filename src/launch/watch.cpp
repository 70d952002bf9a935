// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/watch.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <map>
#include <optional>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <utility>

#include <climits>
#include <fmt/format.h>

#include "base/log.hpp"
#include "base/process_tree.hpp"
#include "base/signals.hpp"
#include "cluster/command.hpp"
#include "launch/control_socket.hpp"
#include "launch/job_metrics.hpp"
#include "launch/status_line.hpp"

namespace dtrain::launch {
namespace {

using Clock = std::chrono::steady_clock;
using cluster::Command;
using std::chrono::milliseconds;

constexpr milliseconds between_signals{50};   // two equal signals closer together may be merged
constexpr milliseconds answer_margin{3000};   // for processes that answer at once but run on a busy machine
constexpr milliseconds max_start{3000};       // for all workers to start after the first one
constexpr milliseconds engine_cleanup{3000};  // time that mpirun 4.1 needs to kill ranks that ignore SIGTERM
constexpr milliseconds between_redraws{1000};
constexpr std::size_t max_engine_text = 16 * 1024;

/// Forwards bytes without ever waiting for a slow reader: reads only after the last piece has been written.
class PassThrough {
  public:
    PassThrough(int from, int to) : from_(from), to_(to) { make_nonblocking(from); }

    bool open() const { return from_ >= 0; }
    pollfd reading() const { return {piece_.empty() ? from_ : -1, POLLIN, 0}; }
    pollfd writing() const { return {piece_.empty() ? -1 : to_, POLLOUT, 0}; }

    void read_piece() {
        std::array<char, PIPE_BUF> buffer;
        const auto got = ::read(from_, buffer.data(), buffer.size());
        if (got > 0 && !reader_gone_) piece_.assign(buffer.data(), static_cast<std::size_t>(got));
        if (got == 0) from_ = -1;
    }

    void write_piece() {
        if (!piece_.empty()) in_a_line_ = piece_.back() != '\n';
        if (!write_all(to_, piece_)) reader_gone_ = true;
        piece_.clear();
    }

    /// Whether the last forwarded line is incomplete.
    bool in_a_line() const { return in_a_line_; }

    /// Forwards what has already arrived, once nothing more will.
    void finish() {
        while (open()) {
            if (!piece_.empty()) write_piece();
            const auto before = piece_.size();
            read_piece();
            if (piece_.size() == before) break;
        }
        if (!piece_.empty()) write_piece();
    }

  private:
    int from_;
    int to_;
    std::string piece_;
    bool reader_gone_ = false;
    bool in_a_line_ = false;
};

class Watch {
  public:
    explicit Watch(const WatchOptions& options)
        : options_(options),
          signals_(stop_signals_and({SIGCHLD, SIGUSR1, SIGUSR2})),
          engine_({.argv = options.command,
                   .environment = options.environment,
                   .pipe_input = options.control.by_lines,
                   .parent_death_signal = options.control.death_signal,
                   .new_process_group = true}),
          console_(engine_.stdout_fd(), STDOUT_FILENO),
          status_(options.status_line ? STDERR_FILENO : -1),
          result_{.job = JobState(options.size, options.service_ranks)} {
        ::signal(SIGPIPE, SIG_IGN);
        make_nonblocking(engine_.stderr_fd());
        for (const int rank : options.heartbeat_ranks) last_heard_[rank] = begin_;
    }

    Watched run() {
        while (!engine_.poll()) {
            show_status();
            send_keepalive();
            wait_for_something();
            decide();
        }
        status_.clear();
        read_events();
        console_.finish();
        if (options_.events.fd >= 0) see_what_was_lost();
        result_.engine_status = *engine_.poll();
        result_.engine_pid = engine_.pid();
        end_what_escaped();
        return std::move(result_);
    }

  private:
    void wait_for_something() {
        std::array<pollfd, 7> sources{{{signals_.fd(), POLLIN, 0},
                                       {engine_text_open_ ? engine_.stderr_fd() : -1, POLLIN, 0},
                                       console_.reading(),
                                       console_.writing(),
                                       {options_.stop_fd, POLLIN, 0},
                                       {options_.events.fd, POLLIN, 0},
                                       {questions_ != nullptr ? questions_->fd() : -1, POLLIN, 0}}};
        ::poll(sources.data(), sources.size(), time_left_ms());
        if (sources[0].revents != 0) take_signals();
        if (sources[1].revents != 0) read_events();
        if (sources[2].revents != 0) console_.read_piece();
        if (sources[3].revents != 0) {
            status_.clear();
            console_.write_piece();
        }
        if (sources[4].revents != 0) take_command();
        if (sources[5].revents != 0) serve_events();
        if (sources[6].revents != 0) questions_->serve(result_.job, step_ != Step::running);
        if (questions_ != nullptr && questions_->take_stacks_command(result_.job))
            notify_ranks({.kind = Command::Kind::show_stacks});
    }

    void serve_events() {
        options_.events.serve();
        if (result_.asked_to_stop_by == 0) result_.asked_to_stop_by = options_.events.asked_to_stop_by();
    }

    /// mpirun may have noticed the loss before the link did.
    void see_what_was_lost() {
        serve_events();
        const auto lost = options_.events.lost();
        if (!lost || result_.lost || result_.job.any_failed() || result_.job.all_done()) return;
        result_.lost = lost->rank;
        result_.lost_because = lost->reason;
    }

    void notify_ranks(const Command& command) {
        if (options_.control.by_lines) {
            write_all(engine_.stdin_fd(), cluster::to_line(command) + "\n");
        } else {
            if (held_signals_.empty()) hold_until_ = Clock::now() + max_start;
            held_signals_.push_back(signal_of(command));
            send_held_signals();
        }
    }

    /// A signal would kill a worker that has just been created, before it can report anything.
    void send_held_signals() {
        if (held_signals_.empty()) return;
        if (result_.job.some_are_starting() && Clock::now() < hold_until_) return;
        for (const int signal : std::exchange(held_signals_, {})) engine_.send(signal);
        leave_from_ = Clock::now() + between_signals;
    }

    /// The signal for a command that mpirun forwards to its ranks.
    static int signal_of(const Command& command) {
        if (command.kind == Command::Kind::pass_on) return command.signal;
        return command.kind == Command::Kind::show_stacks ? SIGABRT : SIGALRM;
    }

    /// Ranks that receive nothing end themselves, assuming that their launcher or network is gone.
    void send_keepalive() {
        if (!options_.control.by_lines || Clock::now() < next_sign_of_life_) return;
        write_all(engine_.stdin_fd(), fmt::format("{}\n", cluster::keepalive_line));
        next_sign_of_life_ = Clock::now() + cluster::keepalive_interval;
    }

    void show_status() {
        // Otherwise an unfinished line of the console and the status line would overwrite each other.
        if (!status_.on_terminal() || (console_.in_a_line() && ::isatty(STDOUT_FILENO))) return;
        status_.show(
            status_text({.size = result_.job.size(),
                         .up = result_.job.up(),
                         .done = result_.job.done(),
                         .elapsed = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin_),
                         .log_dir = options_.log_dir},
                        status_.width()));
    }

    int time_left_ms() const {
        int left = ms_to_deadline();
        const auto also_in = [&](milliseconds limit) {
            const auto ms = static_cast<int>(std::max(limit, milliseconds{0}).count());
            left = left < 0 ? ms : std::min(left, ms);
        };
        if (!held_signals_.empty()) also_in(std::chrono::ceil<milliseconds>(hold_until_ - Clock::now()));
        if (!options_.heartbeat_ranks.empty() && left < 0) also_in(between_redraws);
        if (status_.on_terminal()) {
            const auto since = std::chrono::duration_cast<milliseconds>(Clock::now() - begin_);
            also_in(between_redraws - since % between_redraws);
        }
        if (options_.control.by_lines)
            also_in(std::chrono::ceil<milliseconds>(next_sign_of_life_ - Clock::now()));
        return left;
    }

    int ms_to_deadline() const {
        if (!deadline_) return -1;
        const bool only_spacing = step_ == Step::stopping && result_.job.all_ended();
        const auto next = only_spacing ? leave_from_ : *deadline_;
        const auto left = std::chrono::ceil<milliseconds>(next - Clock::now()).count();
        return static_cast<int>(std::clamp<long>(left, 0, 3600'000));
    }

    void take_signals() {
        while (const auto taken = signals_.take()) {
            const int signal = taken->number;
            if (signal == SIGUSR1 || signal == SIGUSR2) {
                notify_ranks({.kind = Command::Kind::pass_on, .signal = signal});
            } else if (signal != SIGCHLD) {
                // A scheduler signals all launchers at once: a signal reported by another launcher does not
                // count as the first Ctrl-C.
                if (std::exchange(signalled_, true)) kill_now_ = true;  // the second Ctrl-C
                if (result_.asked_to_stop_by == 0) result_.asked_to_stop_by = signal;
            }
        }
    }

    void take_command() {
        std::uint64_t count = 0;
        if (::read(options_.stop_fd, &count, sizeof count) != sizeof count) return;
        if (count > 1 || result_.commanded_to_stop) kill_now_ = true;
        result_.commanded_to_stop = true;
    }

    void read_events() {
        std::array<char, 16384> buffer;
        for (;;) {
            const auto got = ::read(engine_.stderr_fd(), buffer.data(), buffer.size());
            if (got == 0) engine_text_open_ = false;
            if (got <= 0) break;
            unfinished_line_.append(buffer.data(), static_cast<std::size_t>(got));
        }
        std::size_t begin = 0;
        for (auto end = unfinished_line_.find('\n'); end != std::string::npos;
             end = unfinished_line_.find('\n', begin)) {
            take_line(unfinished_line_.substr(begin, end - begin));
            begin = end + 1;
        }
        unfinished_line_.erase(0, begin);
    }

    void take_line(std::string line) {
        if (!line.empty() && line.back() == '\r') line.pop_back();
        const auto marker = line.find(cluster::event_marker);
        if (marker != std::string::npos) {
            if (const auto event = cluster::decode(std::string_view(line).substr(marker))) take_event(*event);
            return;
        }
        if (result_.engine_text.size() < max_engine_text) result_.engine_text += line + "\n";
    }

    void take_event(const cluster::Event& event) {
        result_.job.take(event);
        if (questions_ != nullptr) questions_->take(event, result_.job);
        if (options_.metrics != nullptr) options_.metrics->take(event, result_.job);
        if (const auto beat = last_heard_.find(event.rank); beat != last_heard_.end())
            beat->second = Clock::now();
        using Kind = cluster::Event::Kind;
        if (event.kind != Kind::warning && event.kind != Kind::gpu_error) return;
        status_.clear();
        log_warning("{}", cluster::to_sentence(event));
    }

    /// Every step has a deadline, after which the next, more forceful step follows.
    void decide() {
        send_held_signals();
        if (kill_now_ && !std::exchange(result_.killed_at_once, true)) {
            engine_.send(options_.control.at_once);
            go_on(Step::killing, engine_cleanup);
        }
        switch (step_) {
            case Step::running:
                if (result_.job.all_done())
                    go_on(Step::leaving, answer_margin);
                else if (result_.asked_to_stop_by != 0 || result_.commanded_to_stop || failed_by_itself())
                    stop_programs();
                else if (result_.job.work_done())  // the servers have no work left
                    stop_programs();
                else if (result_.job.any_failed())  // mpirun is already stopping the ranks and must not be
                                                    // disturbed
                    go_on(Step::leaving, options_.grace + engine_cleanup);
                else if (auto lost = options_.events.lost ? options_.events.lost() : std::nullopt)
                    stop_for(std::move(*lost));
                else if (result_.lost = rank_of_lost_node(); result_.lost)
                    go_on(Step::leaving, milliseconds{0});
                else if (auto hung = result_.job.hung(options_.hang_timeout); !hung.empty())
                    stop_hung(std::move(hung));
                break;
            case Step::stopping:
                if ((result_.job.all_ended() || late()) && Clock::now() >= leave_from_) let_leave();
                break;
            case Step::leaving:
                if (late()) {
                    engine_.send(SIGTERM);
                    go_on(Step::killing, engine_cleanup);
                }
                break;
            case Step::killing:
                if (late()) engine_.send(SIGKILL);
                break;
        }
    }

    enum class Step { running, stopping, leaving, killing };

    bool failed_by_itself() const {
        const auto failures = result_.job.failures();
        return std::any_of(failures.begin(), failures.end(),
                           [](const auto& event) { return event.kind != cluster::Event::Kind::stopped; });
    }

    /// A node counts from its rank's first event on; before that it is starting. Checked once a second, since
    /// a job of 10,000 nodes has many events to read in between.
    std::optional<int> rank_of_lost_node() {
        if (Clock::now() < check_lost_from_) return std::nullopt;
        check_lost_from_ = Clock::now() + between_redraws;
        for (const auto& [rank, heard] : last_heard_)
            if (result_.job.start_of(rank) && !result_.job.end_of(rank) &&
                Clock::now() - heard > options_.max_silence)
                return rank;
        return std::nullopt;
    }

    /// mpirun has noticed the loss, too, and is stopping the ranks.
    void stop_for(LostNode lost) {
        result_.lost = lost.rank;
        result_.lost_because = std::move(lost.reason);
        go_on(Step::leaving, options_.grace + engine_cleanup);
    }

    void stop_hung(std::vector<cluster::Event> hung) {
        result_.hung = std::move(hung);
        stop_programs();
    }

    void stop_programs() {
        result_.job.stop_asked();
        leave_from_ = Clock::now() + between_signals;
        notify_ranks({.kind = Command::Kind::stop});
        go_on(Step::stopping, options_.grace + answer_margin);
    }

    /// A rank that failed by itself counts as ended while its guard still ends the remaining processes of its
    /// program: the programs' grace time continues.
    void let_leave() {
        const auto promised = *deadline_;
        notify_ranks({.kind = Command::Kind::leave});
        go_on(Step::leaving, answer_margin);
        deadline_ = std::max(*deadline_, promised);
    }

    void go_on(Step step, milliseconds limit) {
        step_ = step;
        if (options_.metrics != nullptr) options_.metrics->stop();
        deadline_ = Clock::now() + limit;
    }

    bool late() const { return deadline_ && Clock::now() >= *deadline_; }

    /// Ranks that did not report an end, or were not waited for, may have left processes; the guards of
    /// killed workers are still waiting for the grace time.
    void end_what_escaped() const {
        const bool left_in_peace = step_ != Step::killing && !kill_now_;
        if (left_in_peace && result_.job.all_ended()) return;
        if (options_.control.step)
            end_step(*options_.control.step, kill_now_ ? milliseconds{0} : options_.grace,
                     options_.environment);
        const auto kill_at =
            Clock::now() + (kill_now_ ? milliseconds{0} : options_.grace + milliseconds{500});
        const auto give_up_at = kill_at + answer_margin;
        while (Clock::now() < give_up_at) {
            const auto left = processes_with_variable("DTRAIN_JOB_TOKEN", options_.job_token);
            if (left.empty()) return;
            if (Clock::now() >= kill_at)
                for (const auto pid : left) ::kill(pid, SIGKILL);
            ::usleep(10'000);
        }
    }

    const WatchOptions& options_;
    ControlSocket* const questions_ = options_.control_socket;
    SignalSource signals_;
    Subprocess engine_;
    PassThrough console_;
    StatusLine status_;
    const Clock::time_point begin_ = Clock::now();
    Watched result_;
    std::map<int, Clock::time_point> last_heard_;  ///< for the ranks that send heartbeats
    std::string unfinished_line_;
    bool engine_text_open_ = true;
    bool signalled_ = false;
    bool kill_now_ = false;
    Step step_ = Step::running;
    Clock::time_point next_sign_of_life_ = begin_;
    std::vector<int> held_signals_;  ///< for the launch backend, which forwards them to the ranks
    Clock::time_point hold_until_;
    std::optional<Clock::time_point> deadline_;
    Clock::time_point leave_from_;
    Clock::time_point check_lost_from_;
};

}  // namespace

Watched watch(const WatchOptions& options) {
    return Watch(options).run();
}

}  // namespace dtrain::launch
