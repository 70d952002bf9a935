// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/guard.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include "base/exec_image.hpp"
#include "base/process_tree.hpp"
#include "base/signals.hpp"

namespace dtrain::worker {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kill_again{100};  // a tree that forks while being killed needs several rounds

struct Command {
    enum class Kind { forward, stop };
    Kind kind;
    int signal;
};

/// Runs in the program's process, up to exec.
[[noreturn]] void become_program(const GuardedProgram& program, pid_t guard, int error_pipe) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != guard) ::_exit(128 + SIGKILL);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
    ::dup2(program.output.get(), STDOUT_FILENO);
    ::dup2(program.errors.valid() ? program.errors.get() : program.output.get(), STDERR_FILENO);

    const int error = ExecImage(program.argv, program.environment).become(program.executable.c_str());
    [[maybe_unused]] const auto ignored = ::write(error_pipe, &error, sizeof error);
    ::_exit(127);
}

/// The guard's event loop. It only reacts to two descriptors and a deadline.
class GuardLoop {
  public:
    GuardLoop(GuardedProgram program, int socket) : program_(std::move(program)), socket_(socket) {}

    [[noreturn]] void live() {
        detach();
        const SignalSource signals(stop_signals_and({SIGCHLD}));
        for (const int signal : {SIGUSR1, SIGUSR2, SIGALRM, SIGPIPE}) ::signal(signal, SIG_IGN);
        for (bool alive = start_program(); alive;) {
            pollfd sources[2] = {{socket_, static_cast<short>(worker_gone_ ? 0 : POLLIN), 0},
                                 {signals.fd(), POLLIN, 0}};
            if (worker_gone_) sources[0].fd = -1;
            ::poll(sources, 2, time_left_ms());
            if (sources[1].revents != 0) take_signals(signals);
            if (sources[0].revents != 0) take_command();
            alive = reap();
            if (alive && ending_ && Clock::now() >= kill_at_) {
                signal_descendants({SIGKILL});
                kill_at_ = Clock::now() + kill_again;
            }
        }
        ::_exit(0);
    }

  private:
    /// Detaches from everything that belongs to the launcher: session, process group, pipes.
    void detach() {
        ::setsid();
        ::prctl(PR_SET_CHILD_SUBREAPER, 1);
        ::prctl(PR_SET_NAME, "dtrain-guard");
        const int null = ::open("/dev/null", O_RDWR);
        for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null, stream);
        const int output = program_.output.get(), errors = program_.errors.get();
        for (const int fd : open_descriptors(::getpid()))
            if (fd > STDERR_FILENO && fd != socket_ && fd != output && fd != errors) ::close(fd);
    }

    /// False if no process can be created.
    bool start_program() {
        Pipe exec_error = Pipe::open();
        const pid_t guard = ::getpid();
        pid_ = ::fork();
        if (pid_ == 0) become_program(program_, guard, exec_error.write_end.get());
        if (pid_ < 0) {
            send({.kind = GuardEvent::Kind::cannot_execute, .error = errno});
            return false;
        }
        exec_error.write_end.reset();
        GuardEvent event{.kind = GuardEvent::Kind::started, .pid = pid_};
        if (::read(exec_error.read_end.get(), &event.error, sizeof event.error) == sizeof event.error)
            event.kind = GuardEvent::Kind::cannot_execute;
        send(event);
        program_.output.reset();
        program_.errors.reset();
        return true;
    }

    void send(const GuardEvent& event) { ::send(socket_, &event, sizeof event, MSG_NOSIGNAL); }

    void take_signals(const SignalSource& signals) {
        while (const auto taken = signals.take())
            if (taken->number != SIGCHLD) stop(SIGTERM);
    }

    void take_command() {
        Command command{};
        if (::recv(socket_, &command, sizeof command, 0) != sizeof command) {
            worker_gone_ = true;
            stop(SIGTERM);
        } else if (command.kind == Command::Kind::stop) {
            stop(command.signal);
        } else if (pid_ > 0) {
            ::kill(pid_, command.signal);
        }
    }

    void stop(int signal) {
        if (ending_) return;
        ending_ = true;
        kill_at_ = Clock::now() + program_.grace;
        told_ = signal_descendants({signal, SIGCONT});  // a stopped process cannot end
    }

    /// What an ended program left behind. It may have forked while stop() looked for its processes.
    void stop_what_is_left() {
        stop(SIGTERM);
        for (const auto child : children_of(::getpid())) {
            if (std::ranges::find(told_, child) != told_.end()) continue;
            for (const int signal : {SIGTERM, SIGCONT}) ::kill(child, signal);
            told_.push_back(child);
        }
    }

    /// Reaps ended processes; false if no child is left. Then nothing is left of what the program started:
    /// processes that lose their parent become children of this subreaper.
    bool reap() {
        bool any_ended = false;
        for (;;) {
            int status = 0;
            const pid_t ended = ::waitpid(-1, &status, WNOHANG);
            if (ended < 0) return errno != ECHILD;
            if (ended == 0) {
                if (any_ended && pid_ == 0) stop_what_is_left();
                return true;
            }
            any_ended = true;
            if (ended == pid_) {
                pid_ = 0;
                send({.kind = GuardEvent::Kind::ended, .pid = ended, .wait_status = status});
            }
        }
    }

    int time_left_ms() const {
        if (!ending_) return -1;
        const auto left = std::chrono::duration_cast<milliseconds>(kill_at_ - Clock::now()).count();
        return static_cast<int>(std::max<long>(0, left)) + 1;
    }

    GuardedProgram program_;
    int socket_;
    pid_t pid_ = 0;  // the program's pid while it runs
    bool ending_ = false;
    bool worker_gone_ = false;
    std::vector<pid_t> told_;  ///< to end
    Clock::time_point kill_at_;
};

}  // namespace

Guard::Guard(GuardedProgram program) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        throw std::system_error(errno, std::generic_category(), "socketpair");
    socket_ = FileDescriptor(ends[0]);
    const FileDescriptor guard_end(ends[1]);
    pid_ = ::fork();
    if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (pid_ == 0) GuardLoop(std::move(program), guard_end.get()).live();
}

std::optional<GuardEvent> Guard::read_event() {
    GuardEvent event;
    if (::recv(socket_.get(), &event, sizeof event, 0) == sizeof event) return event;
    return std::nullopt;
}

void Guard::forward(int signal) {
    const Command command{Command::Kind::forward, signal};
    ::send(socket_.get(), &command, sizeof command, MSG_NOSIGNAL);
}

void Guard::stop(int signal) {
    const Command command{Command::Kind::stop, signal};
    ::send(socket_.get(), &command, sizeof command, MSG_NOSIGNAL);
}

bool Guard::reap() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0)
        if (errno != EINTR) return false;
    return ExitStatus::of_wait(status).success();
}

void end_descendants(milliseconds grace) {
    signal_descendants({SIGTERM, SIGCONT});
    auto kill_at = Clock::now() + grace;
    for (;;) {
        const pid_t ended = ::waitpid(-1, nullptr, WNOHANG);
        if (ended < 0 && errno == ECHILD) return;
        if (ended > 0) continue;
        if (Clock::now() >= kill_at) {
            signal_descendants({SIGKILL});
            kill_at = Clock::now() + kill_again;
        }
        ::usleep(2000);
    }
}

}  // namespace dtrain::worker
