// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "transport/agent.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <sys/epoll.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/log.hpp"
#include "base/process_tree.hpp"
#include "base/signals.hpp"
#include "base/subprocess.hpp"
#include "base/temporary_folder.hpp"
#include "base/text.hpp"
#include "transport/connection.hpp"
#include "transport/daemon_command.hpp"
#include "transport/key_file.hpp"
#include "transport/reactor.hpp"
#include "transport/tcp.hpp"

namespace dtrain::transport {
namespace {

using Clock = Connection::Clock;
using std::chrono::milliseconds;

constexpr milliseconds try_again{300};
constexpr milliseconds connecting_limit{2'000};
constexpr milliseconds between_complaints{15'000};
constexpr milliseconds poll_interval{500};
constexpr milliseconds min_time_to_prove{1'000};
constexpr milliseconds daemon_cleanup{3'000};  // time that a daemon needs to kill ranks that ignore SIGTERM
constexpr milliseconds end_margin{3'000};
constexpr int status_link_lost = 1;

bool must_leave(const AgentOptions& options) {
    return options.must_leave && options.must_leave();
}

LocalPrograms programs_of(const Environment& environment) {
    return {.in_path = [&environment](const std::string& name) { return find_in_path(name, environment); },
            .same_file =
                [](const std::string& a, const std::string& b) {
                    std::error_code error;
                    return std::filesystem::equivalent(a, b, error);
                }};
}

/// The variable that names the folder for session files of Open MPI 4.1's daemons. Several daemons of one job
/// on one machine would use the same folder, and fail if they create it at the same time.
constexpr const char* session_variable = "OMPI_MCA_orte_tmpdir_base";

std::filesystem::path session_parent(const Environment& environment) {
    const auto own = environment.get_or(session_variable, "");
    return own.empty() ? temporary_directory(environment) : std::filesystem::path(own);
}

/// The MPI daemon that one mpirun runs on this node.
class Daemon {
  public:
    /// @throws UsageError if the command is not one of mpirun's, or the daemon is not installed here
    Daemon(const RunDaemon& wish, const Environment& environment)
        : run(wish.run), token(wish.job_token), session(session_parent(environment)) {
        grace = milliseconds(wish.grace_ms);
        const auto command = parse_daemon_command(wish.command, environment);
        auto variables = environment;
        for (const auto& [name, value] : command.assignments) variables.set(name, value);
        variables.set("DTRAIN_JOB_TOKEN", token);
        variables.set(session_variable, session.path());
        std::vector<std::string> argv{local_daemon(command, programs_of(environment))};
        argv.insert(argv.end(), command.arguments.begin(), command.arguments.end());
        process = std::make_unique<Subprocess>(ProcessOptions{.argv = std::move(argv),
                                                              .environment = std::move(variables),
                                                              .parent_death_signal = SIGTERM,
                                                              .new_process_group = true});
        for (const int fd : {process->stdout_fd(), process->stderr_fd()}) make_nonblocking(fd);
    }

    int run;
    std::string token;
    milliseconds grace{0};
    TemporaryFolder session;
    std::unique_ptr<Subprocess> process;
};

/// Ends the daemon and everything it started: the guards give programs their grace time, then everything is
/// killed.
void kill_job_processes(Daemon& daemon) {
    daemon.process->send(SIGTERM);
    const auto begin = Clock::now();
    const auto kill_daemon_at = begin + daemon_cleanup;
    const auto kill_all_at = begin + daemon_cleanup + daemon.grace;
    for (;;) {
        const bool ended = daemon.process->poll().has_value();
        const auto left = processes_with_variable("DTRAIN_JOB_TOKEN", daemon.token);
        if ((ended && left.empty()) || Clock::now() >= kill_all_at + end_margin) return;
        if (!ended && Clock::now() >= kill_daemon_at) daemon.process->send(SIGKILL);
        if (Clock::now() >= kill_all_at)
            for (const auto pid : left) ::kill(pid, SIGKILL);
        std::this_thread::sleep_for(milliseconds(10));
    }
}

std::string what_to_do_about_the_port(const AgentOptions& options) {
    return fmt::format(
        "another program may have the port{}: end that, or give the job another --link-port, --job_id or "
        "--master on all nodes",
        options.holder ? options.holder() : "");
}

}  // namespace

class Following::State {
  public:
    State(const AgentOptions& options, FileDescriptor socket, milliseconds authentication_timeout,
          Reactor::Now now)
        : options_(options),
          time_to_prove_(authentication_timeout),
          reactor_(std::move(now)),
          connection_(std::move(socket), Channel::Side::agent, options.key, reactor_.now()) {
        reactor_.watch(connection_.fd(), EPOLLIN | EPOLLOUT,
                       [this](std::uint32_t events) { serve_link(events); });
        reactor_.every(poll_interval, [this] { check_clock(); });
        reactor_.every(between_heartbeats, [this] {
            if (introduced_) say(Heartbeat{});
        });
    }

    Reactor& reactor() { return reactor_; }
    const std::optional<Followed>& outcome() const { return outcome_; }
    const std::string& lost() const { return lost_; }
    bool is_unauthenticated() const { return !introduced_; }

    std::optional<Followed> run() {
        while (!outcome_ && (lost_.empty() || accepted_)) {
            reactor_.wait(options_.must_leave ? try_again : between_heartbeats);
            // A check ends soon, and this node may be the only one that can inspect the coordinator's
            // machine.
            if (!outcome_ && !options_.request.check && must_leave(options_))
                outcome_ = Followed{.left = true};
        }
        if (daemon_) kill_job_processes(*daemon_);
        return outcome_;
    }

  private:
    void serve_link(std::uint32_t events) {
        try {
            if ((events & ~EPOLLOUT) != 0 && !connection_.read(reactor_.now()))
                return lose(connection_.reason());
            if (connection_.open() && !introduced_) {
                introduced_ = true;
                connection_.send(options_.request);
            }
            while (!outcome_ && lost_.empty()) {
                const auto message = connection_.next();
                if (!message) break;
                std::visit([this](const auto& each) { take(each); }, *message);
            }
        } catch (const WrongKey&) {
            throw UsageError(fmt::format("node 0 ({}) has another key than {}; {}", options_.coordinator,
                                         "this node", how_to_copy_key(options_.coordinator, "this node")));
        } catch (const LinkError& error) {
            return lose_by(error);
        }
        send_rest();
    }

    void check_clock() {
        if (!lost_.empty() || connection_.has_input()) return;
        const auto now = reactor_.now();
        if (!connection_.open() && now - connection_.begin() >= time_to_prove_)
            lose(fmt::format("it accepts connections and has not answered for {} s",
                             std::chrono::ceil<std::chrono::seconds>(time_to_prove_).count()));
        else if (now - connection_.last_heard() >= max_silence)
            lose("it says nothing any more");
    }

    void send_rest() {
        if (!lost_.empty()) return;
        if (!connection_.write()) return lose(connection_.reason());
        reactor_.change(connection_.fd(), connection_.has_output() ? EPOLLIN | EPOLLOUT : EPOLLIN);
    }

    void say(const Message& message) {
        if (!lost_.empty()) return;
        try {
            connection_.send(message);
        } catch (const LinkError& error) {
            return lose_by(error);
        }
        send_rest();
    }

    void lose_by(const LinkError& error) {
        lose(introduced_
                 ? error.what()
                 : fmt::format("it answers as no dtrain-launch of this version does: {}", error.what()));
    }

    void lose(const std::string& reason) {
        if (!lost_.empty()) return;
        lost_ = reason;
        reactor_.forget(connection_.fd());
        if (accepted_ && !outcome_)
            outcome_ = Followed{.status = status_link_lost,
                                .text = fmt::format("lost node 0 ({}): {}", options_.coordinator, reason)};
    }

    void take(const Refused& refused) {
        if (refused.of_another_job) return lose(refused.reason);
        throw CoordinatorRefuses(
            fmt::format("node 0 ({}) refuses this node: {}", options_.coordinator, refused.reason));
    }

    void take(const Accepted& accepted) {
        if (accepted_) return;  // the job is started again
        watch_signals();
        accepted_ = true;
        if (options_.accepted) options_.accepted(accepted);
    }

    void take(const RunDaemon& wish) {
        if (daemon_) kill_job_processes(*daemon_);
        forget_daemon();
        try {
            daemon_.emplace(wish, options_.environment);
        } catch (const std::exception& error) {
            return say(DaemonEnded{.run = wish.run, .status = 1, .reason = error.what()});
        }
        const auto pass_on = [this](int fd, bool to_stderr) {
            reactor_.watch(fd, EPOLLIN, [this, fd, to_stderr](std::uint32_t) { pass_output(fd, to_stderr); });
        };
        pass_on(daemon_->process->stdout_fd(), false);
        pass_on(daemon_->process->stderr_fd(), true);
    }

    void take(const StopDaemon& stop) {
        if (daemon_ && daemon_->run == stop.run) daemon_->process->send(SIGTERM);
    }

    void take(const FinalLine& line) {
        if (options_.write_final_line) options_.write_final_line(line);
    }

    void take(const CheckCall& call) {
        if (!options_.check) throw LinkError("node 0 wants this machine inspected, which is here for a job");
        options_.check(call);
    }

    void take(const JobEnded& ended) { outcome_ = Followed{.status = ended.status, .text = ended.text}; }

    void take(const Heartbeat&) {}

    template <class Other>
    void take(const Other&) {
        throw LinkError("node 0 sent a message that only other nodes send");
    }

    void pass_output(int fd, bool to_stderr) {
        std::array<char, 4096> buffer;
        const auto got = ::read(fd, buffer.data(), buffer.size());
        if (got > 0)
            say(DaemonOutput{.run = daemon_->run,
                             .to_stderr = to_stderr,
                             .text = std::string(buffer.data(), static_cast<std::size_t>(got))});
        else if (got == 0)
            reactor_.forget(fd);
    }

    void forget_daemon() {
        if (!daemon_) return;
        for (const int fd : {daemon_->process->stdout_fd(), daemon_->process->stderr_fd()})
            reactor_.forget(fd);
        daemon_.reset();
    }

    void watch_signals() {
        signals_.emplace(stop_signals_and({SIGCHLD}));
        reactor_.watch(signals_->fd(), EPOLLIN, [this](std::uint32_t) { take_signals(); });
    }

    void take_signals() {
        while (const auto taken = signals_->take()) {
            const int signal = taken->number;
            if (signal == SIGCHLD) {
                poll_daemon();
            } else if (asked_to_stop_) {  // the second Ctrl-C
                outcome_ = Followed{.status = 128 + signal, .text = signal_name(signal)};
                if (daemon_) daemon_->grace = milliseconds(0);
            } else {
                asked_to_stop_ = true;
                if (options_.on_stop)
                    options_.on_stop(signal);
                else
                    say(StopJob{signal});
            }
        }
    }

    void poll_daemon() {
        if (!daemon_) return;
        const auto status = daemon_->process->poll();
        if (!status) return;
        if (daemon_announced_ == daemon_->run) return;
        daemon_announced_ = daemon_->run;
        for (const bool to_stderr : {false, true})
            pass_output(to_stderr ? daemon_->process->stderr_fd() : daemon_->process->stdout_fd(), to_stderr);
        say(DaemonEnded{.run = daemon_->run, .status = status->shell_status()});
    }

    const AgentOptions& options_;
    milliseconds time_to_prove_;
    Reactor reactor_;
    Connection connection_;
    std::optional<SignalSource> signals_;
    std::optional<Daemon> daemon_;
    int daemon_announced_ = 0;  ///< number of the run whose daemon's end was reported to the coordinator
    std::optional<Followed> outcome_;
    bool introduced_ = false;
    bool accepted_ = false;
    std::string lost_;  ///< why the connection is no longer usable
    bool asked_to_stop_ = false;
};

Following::Following(const AgentOptions& options, FileDescriptor socket, milliseconds authentication_timeout,
                     Reactor::Now now)
    : state_(std::make_unique<State>(options, std::move(socket), authentication_timeout, std::move(now))) {}
Following::~Following() = default;

Reactor& Following::reactor() {
    return state_->reactor();
}

const std::optional<Followed>& Following::outcome() const {
    return state_->outcome();
}

const std::string& Following::lost() const {
    return state_->lost();
}

bool Following::is_unauthenticated() const {
    return state_->is_unauthenticated();
}

std::optional<Followed> Following::run() {
    return state_->run();
}

Followed follow(const AgentOptions& options) {
    const auto begin = Clock::now();
    auto complain_at = begin + between_complaints;
    for (;;) {
        if (must_leave(options)) return {.left = true};
        auto connected = connect_to(options.coordinator, options.port, connecting_limit);
        std::string reason;
        bool taken = false;
        if (auto* socket = std::get_if<FileDescriptor>(&connected)) {
            const auto left =
                std::chrono::duration_cast<milliseconds>(begin + options.timeout - Clock::now());
            Following following(options, std::move(*socket),
                                std::clamp(left, min_time_to_prove, transport::authentication_timeout));
            if (const auto outcome = following.run()) return *outcome;
            reason = following.lost();
            taken = following.is_unauthenticated();
        } else {
            reason = std::get<std::string>(connected);
        }
        const auto advice = taken ? what_to_do_about_the_port(options) : "start the same command there";
        const auto now = Clock::now();
        if (now - begin >= options.timeout)
            throw UsageError(fmt::format("node 0 ({} port {}) is not there after {} s: {}; {}",
                                         options.coordinator, options.port, seconds_text(options.timeout),
                                         reason, advice));
        if (now >= complain_at) {
            log_warning("waiting for node 0 ({} port {}): {}; {}", options.coordinator, options.port, reason,
                        advice);
            complain_at += between_complaints;
        }
        std::this_thread::sleep_for(try_again);
    }
}

}  // namespace dtrain::transport
