// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/supervise/watch.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <poll.h>
#include <string_view>
#include <sys/prctl.h>
#include <unistd.h>
#include <utility>
#include <variant>

#include <climits>
#include <fmt/format.h>

#include "base/log.hpp"
#include "base/process_tree.hpp"
#include "base/signals.hpp"
#include "base/wall_clock.hpp"
#include "launch/jobs/control_socket.hpp"
#include "launch/jobs/job_metrics.hpp"
#include "launch/outcome/hang_report.hpp"
#include "launch/supervise/status_line.hpp"
#include "protocol/byte_text.hpp"
#include "protocol/checked_line.hpp"
#include "protocol/command.hpp"
#include "protocol/event_lines.hpp"

namespace dtrain::launch {
namespace {

using Clock = std::chrono::steady_clock;
using cluster::Command;
using std::chrono::milliseconds;

constexpr milliseconds between_redraws{1000};
constexpr std::size_t max_engine_text = 16 * 1024;

/// Forwards bytes without ever waiting for a slow reader: reads only after all pieces have been written.
class PassThrough {
  public:
    PassThrough(int from, int to) : from_(from), to_(to) { make_nonblocking(from); }

    bool open() const { return from_ >= 0; }
    pollfd reading() const { return {pending_.empty() ? from_ : -1, POLLIN, 0}; }
    pollfd writing() const { return {pending_.empty() ? -1 : to_, POLLOUT, 0}; }

    void read_piece() {
        std::array<char, PIPE_BUF> buffer;
        const auto got = ::read(from_, buffer.data(), buffer.size());
        if (got > 0) append({buffer.data(), static_cast<std::size_t>(got)});
        if (got == 0) from_ = -1;
    }

    /// Text that came another way, after what has arrived here.
    void add(std::string_view text) {
        for (auto before = std::string::npos; open() && before != pending_.size();) {
            before = pending_.size();
            read_piece();
        }
        append(text);
    }

    void write_piece() {
        const auto piece = std::string_view(pending_).substr(written_, PIPE_BUF);
        if (!piece.empty()) in_a_line_ = piece.back() != '\n';
        if (!write_all(to_, piece)) reader_gone_ = true;
        written_ += piece.size();
        if (!reader_gone_ && written_ < pending_.size()) return;
        pending_.clear();
        written_ = 0;
        if (const auto skipped = std::exchange(skipped_, std::size_t{0}); skipped > 0)
            append(
                fmt::format("\n[dtrain-launch: {} bytes are not shown, the console is too slow]\n", skipped));
    }

    /// Whether the last forwarded line is incomplete.
    bool in_a_line() const { return in_a_line_; }

    /// Forwards what has already arrived, once nothing more will.
    void finish() {
        write_pending();
        while (open()) {
            read_piece();
            if (pending_.empty()) break;
            write_pending();
        }
    }

  private:
    static constexpr std::size_t max_pending = std::size_t{16} << 20U;

    void append(std::string_view text) {
        if (reader_gone_) return;
        if (pending_.size() + text.size() > max_pending)
            skipped_ += text.size();
        else
            pending_ += text;
    }

    void write_pending() {
        while (!pending_.empty()) write_piece();
    }

    int from_;
    int to_;
    std::string pending_;
    std::size_t written_ = 0;  ///< of `pending_`
    std::size_t skipped_ = 0;  ///< bytes behind it that would make it too long
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
          result_{.job = JobState(options.size, options.service_ranks)},
          supervisor_({.by_lines = options.control.by_lines,
                       .at_once = options.control.at_once,
                       .grace = options.grace,
                       .hang_timeout = options.hang_timeout,
                       .only_reports_hangs = options.only_reports_hangs,
                       .heartbeat_ranks = options.heartbeat_ranks,
                       .max_silence = options.max_silence},
                      begin_) {
        ::signal(SIGPIPE, SIG_IGN);
        make_nonblocking(engine_.stderr_fd());
    }

    Watched run() {
        act();  // ranks hear that the launcher lives before they get a command
        while (!engine_.poll()) {
            show_status();
            wait_for_something();
            act();
        }
        status_.clear();
        read_events();
        console_.finish();
        result_.killed_at_once = supervisor_.killed_at_once();
        result_.hung = supervisor_.hung();
        if (const auto& lost = supervisor_.lost()) note_loss(*lost);
        if (options_.events.fd >= 0) see_what_was_lost();
        result_.engine_status = *engine_.poll();
        result_.engine_pid = engine_.pid();
        end_what_escaped();
        return std::move(result_);
    }

    void operator()(const SignalBackend& signal) { engine_.send(signal.number); }
    void operator()(const WriteCommand& written) {
        write_all(engine_.stdin_fd(), cluster::to_line(written.command) + "\n");
    }
    void operator()(const ReportHang& report) {
        const auto diagnosis = diagnose(result_.job, report.hung, options_.hosts);
        hang_ = open_report(hang_warning(report.hung, diagnosis), diagnosis);
    }
    void operator()(const ReportEndOfHang& end) {
        log_warning("the job goes on, {:.1f} s after it was said to hang", close_report(hang_, end.lasted));
    }
    void operator()(const ReportUnstarted& report) {
        const auto diagnosis = diagnose(result_.job, {}, options_.hosts);
        late_start_ =
            open_report(unstarted_warning(diagnosis, result_.job, report.waited,
                                          std::filesystem::path(options_.command.front()).filename().string(),
                                          result_.engine_text),
                        diagnosis);
    }
    void operator()(const ReportLateStart& start) {
        log_warning("all ranks have started, {:.1f} s after it was said that some had not",
                    close_report(late_start_, start.lasted));
    }
    void operator()(const ReportSlowStop& report) {
        status_.clear();
        log_warning("{}", slow_stop_warning(report.hung, diagnose(result_.job, report.hung, options_.hosts),
                                            report.left));
    }
    void operator()(const WriteKeepalive&) {
        write_all(engine_.stdin_fd(), fmt::format("{}\n", cluster::keepalive_line));
    }

  private:
    /// Warns of a hang, which the job's report will have, too.
    /// @returns its index there
    std::size_t open_report(std::string text, trace::HangDiagnosis diagnosis) {
        status_.clear();
        log_warning("{}", text);
        result_.reported_hangs.push_back({.text = std::move(text),
                                          .diagnosis = std::move(diagnosis),
                                          .time_us = now_us(),
                                          .seconds = std::nullopt});
        return result_.reported_hangs.size() - 1;
    }

    /// @returns for how many seconds it was open
    double close_report(std::size_t reported, milliseconds lasted) {
        status_.clear();
        const auto seconds = std::chrono::duration<double>(lasted).count();
        result_.reported_hangs[reported].seconds = seconds;
        return seconds;
    }

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
        if (sources[6].revents != 0)
            questions_->serve(result_.job, supervisor_.phase() != Supervisor::Phase::running);
        if (questions_ != nullptr && questions_->take_stacks_command(result_.job))
            supervisor_.notify({.kind = Command::Kind::show_stacks});
    }

    void serve_events() {
        options_.events.serve();
        if (result_.asked_to_stop_by == 0) result_.asked_to_stop_by = options_.events.asked_to_stop_by();
    }

    /// mpirun may have noticed the loss before the link did.
    void see_what_was_lost() {
        serve_events();
        const auto lost = options_.events.lost();
        if (lost && !result_.lost && !result_.job.any_failed() && !result_.job.all_done()) note_loss(*lost);
    }

    void note_loss(const LostNode& lost) {
        result_.lost = lost.rank;
        result_.lost_because = lost.reason;
    }

    void act() {
        const Requests asked{.asked_to_stop_by = result_.asked_to_stop_by,
                             .commanded_to_stop = result_.commanded_to_stop,
                             .kill_now = kill_now_,
                             .lost = options_.events.lost ? options_.events.lost() : std::nullopt};
        for (const auto& action : supervisor_.step(result_.job, asked, Clock::now()))
            std::visit(*this, action);
        const bool stops = supervisor_.phase() != Supervisor::Phase::running;
        if (stops && options_.metrics != nullptr) options_.metrics->stop();
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
        const auto now = Clock::now();
        auto next = supervisor_.next_step(result_.job, now);
        if (status_.on_terminal()) {
            const auto redraw = now + between_redraws - (now - begin_) % between_redraws;
            next = std::min(next.value_or(redraw), redraw);
        }
        if (!next) return -1;
        constexpr milliseconds max{3600'000};
        return static_cast<int>(
            std::clamp(std::chrono::ceil<milliseconds>(*next - now), milliseconds{0}, max).count());
    }

    void take_signals() {
        while (const auto taken = signals_.take()) {
            const int signal = taken->number;
            if (signal == SIGUSR1 || signal == SIGUSR2) {
                supervisor_.notify({.kind = Command::Kind::pass_on, .signal = signal});
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
        std::erase(line, '\0');  // mpirun of Open MPI 5 ends each message of a rank's MPI with one
        const auto marker =
            line.rfind(cluster::event_marker);  // before it may be the beginning of a torn line
        if (marker != std::string::npos) {
            if (!options_.control.by_lines) pass_held_back(line);
            if (const auto event = event_lines_.take(std::string_view(line).substr(marker)))
                take_event(*event);
            return;
        }
        if (result_.engine_text.size() < max_engine_text) result_.engine_text += line + "\n";
    }

    /// mpirun of Open MPI 5.0.7 holds back what a rank writes without the end of a line, and puts it in front
    /// of what that rank writes next, also when that goes to the other stream.
    void pass_held_back(std::string_view line) {
        if (const auto text = line.substr(0, line.find(cluster::event_marker)); !text.empty())
            console_.add(text);
    }

    void take_event(const cluster::Event& event) {
        if (event.kind == cluster::Event::Kind::console) {
            if (event.code == STDOUT_FILENO)
                console_.add(cluster::bytes_of_text(event.text));
            else
                write_all(STDERR_FILENO, event.text);
            return;
        }
        result_.job.take(event);
        if (questions_ != nullptr) questions_->take(event, result_.job);
        if (options_.metrics != nullptr) options_.metrics->take(event, result_.job);
        supervisor_.heard(event.rank, Clock::now());
        using Kind = cluster::Event::Kind;
        if (event.kind != Kind::warning && event.kind != Kind::gpu_error) return;
        status_.clear();
        log_warning("{}", cluster::to_sentence(event));
    }

    /// Ranks that did not report an end, or were not waited for, may have left processes; the guards of
    /// killed workers are still waiting for the grace time.
    void end_what_escaped() const {
        const bool ended_gracefully = supervisor_.phase() != Supervisor::Phase::killing && !kill_now_;
        if (ended_gracefully && result_.job.all_ended()) return;
        if (options_.control.end_remaining)
            options_.control.end_remaining(kill_now_ ? milliseconds{0} : options_.grace,
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
    Supervisor supervisor_;
    std::size_t hang_ = 0;        ///< of the reported ones, the last one
    std::size_t late_start_ = 0;  ///< the same of ranks that had not started
    std::string unfinished_line_;
    cluster::EventReader event_lines_;
    bool engine_text_open_ = true;
    bool signalled_ = false;
    bool kill_now_ = false;
};

}  // namespace

Watched watch(const WatchOptions& options) {
    return Watch(options).run();
}

}  // namespace dtrain::launch
