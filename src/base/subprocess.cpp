// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/subprocess.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/exec_image.hpp"
#include "base/process_tree.hpp"
#include "base/text.hpp"

namespace dtrain {
namespace {

constexpr mode_t owner_only = 0600;

/// Runs between fork and exec: only async-signal-safe calls.
void become_child(const ProcessOptions& options, pid_t parent, const Pipe& in, const Pipe& out,
                  const Pipe& err) {
    if (options.parent_death_signal != 0) {
        ::prctl(PR_SET_PDEATHSIG, options.parent_death_signal);
        if (::getppid() != parent) ::_exit(128 + options.parent_death_signal);
    }
    if (options.new_process_group) ::setpgid(0, 0);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::signal(SIGPIPE, SIG_DFL);
    if (options.inherited >= 0) ::fcntl(options.inherited, F_SETFD, 0);
    if (options.pipe_input) {
        ::dup2(in.read_end.get(), STDIN_FILENO);
    } else if (options.stdin_from_null) {
        const int null = ::open("/dev/null", O_RDONLY);
        ::dup2(null, STDIN_FILENO);
    }
    if (options.pipe_output) {
        ::dup2(out.write_end.get(), STDOUT_FILENO);
        ::dup2(err.write_end.get(), STDERR_FILENO);
    } else if (!options.errors_to.empty()) {
        ::dup2(::open(options.errors_to.c_str(), O_WRONLY | O_CREAT | O_TRUNC, owner_only), STDERR_FILENO);
    }
}

/// Like sigabbrev_np(), which requires glibc 2.32.
constexpr std::array<const char*, 32> signal_names = [] {
    std::array<const char*, 32> names{};
    names[SIGHUP] = "HUP";
    names[SIGINT] = "INT";
    names[SIGQUIT] = "QUIT";
    names[SIGILL] = "ILL";
    names[SIGTRAP] = "TRAP";
    names[SIGABRT] = "ABRT";
    names[SIGBUS] = "BUS";
    names[SIGFPE] = "FPE";
    names[SIGKILL] = "KILL";
    names[SIGUSR1] = "USR1";
    names[SIGSEGV] = "SEGV";
    names[SIGUSR2] = "USR2";
    names[SIGPIPE] = "PIPE";
    names[SIGALRM] = "ALRM";
    names[SIGTERM] = "TERM";
    names[SIGSTKFLT] = "STKFLT";
    names[SIGCHLD] = "CHLD";
    names[SIGCONT] = "CONT";
    names[SIGSTOP] = "STOP";
    names[SIGTSTP] = "TSTP";
    names[SIGTTIN] = "TTIN";
    names[SIGTTOU] = "TTOU";
    names[SIGURG] = "URG";
    names[SIGXCPU] = "XCPU";
    names[SIGXFSZ] = "XFSZ";
    names[SIGVTALRM] = "VTALRM";
    names[SIGPROF] = "PROF";
    names[SIGWINCH] = "WINCH";
    names[SIGPOLL] = "POLL";
    names[SIGPWR] = "PWR";
    names[SIGSYS] = "SYS";
    return names;
}();

/// Whether a process has used a processor since it was asked last, or waits for one.
class BusyProcess {
  public:
    explicit BusyProcess(pid_t pid) : pid_(pid) {}

    bool is_busy() {
        const auto stat = stat_of(pid_);
        if (!stat || stat->ended) return false;
        return std::exchange(used_, stat->cpu_time) < stat->cpu_time || stat->state == 'R';
    }

  private:
    pid_t pid_;
    std::chrono::milliseconds used_{0};
};

}  // namespace

ExitStatus ExitStatus::of_wait(int wait_status) {
    if (WIFSIGNALED(wait_status)) return {.code = 0, .signal = WTERMSIG(wait_status)};
    return {.code = WEXITSTATUS(wait_status), .signal = 0};
}

std::string ExitStatus::to_string() const {
    return signal != 0 ? fmt::format("signal {} ({})", signal_name(signal), signal)
                       : fmt::format("exit code {}", code);
}

std::string signal_name(int signal) {
    const auto number = static_cast<std::size_t>(signal);
    const char* name = signal > 0 && number < signal_names.size() ? signal_names[number] : nullptr;
    return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

std::optional<std::string> find_in_path(const std::string& name, const Environment& environment) {
    const auto usable = [](const std::string& path) {
        struct stat info {};
        return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
    };
    if (name.find('/') != std::string::npos) return usable(name) ? std::optional(name) : std::nullopt;
    for (const auto& folder : split(environment.get_or("PATH", "/usr/local/bin:/usr/bin:/bin"), ':')) {
        auto path = (folder.empty() ? std::string(".") : folder) + "/" + name;
        if (usable(path)) return path;
    }
    return std::nullopt;
}

Subprocess::Subprocess(const ProcessOptions& options) {
    const auto program = find_in_path(options.argv.at(0), options.environment);
    if (!program)
        throw UsageError(fmt::format("cannot execute \"{}\": no such program{}", options.argv[0],
                                     options.argv[0].find('/') == std::string::npos ? " in PATH" : ""));
    const ExecImage image(options.argv, options.environment);

    Pipe in, out, err;
    if (options.pipe_input) in = Pipe::open();
    if (options.pipe_output) {
        out = Pipe::open();
        err = Pipe::open();
    }
    Pipe exec_error = Pipe::open();
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (pid_ == 0) {
        become_child(options, parent, in, out, err);
        const int error = image.become(program->c_str());
        [[maybe_unused]] const auto ignored = ::write(exec_error.write_end.get(), &error, sizeof error);
        ::_exit(127);
    }
    exec_error.write_end.reset();
    int error = 0;
    if (::read(exec_error.read_end.get(), &error, sizeof error) == sizeof error) {
        ::waitpid(pid_, nullptr, 0);
        pid_ = -1;
        throw UsageError(fmt::format("cannot execute \"{}\": {}", *program, std::strerror(error)));
    }
    in_ = std::move(in.write_end);
    out_ = std::move(out.read_end);
    err_ = std::move(err.read_end);
}

Subprocess::~Subprocess() {
    if (pid_ < 0 || status_) return;
    ::kill(pid_, SIGKILL);
    wait();
}

void Subprocess::send(int signal) const {
    if (!status_) ::kill(pid_, signal);
}

std::optional<ExitStatus> Subprocess::poll() {
    int wait_status = 0;
    if (!status_ && ::waitpid(pid_, &wait_status, WNOHANG) == pid_)
        status_ = ExitStatus::of_wait(wait_status);
    return status_;
}

ExitStatus Subprocess::wait() {
    int wait_status = 0;
    while (!status_)
        if (::waitpid(pid_, &wait_status, 0) == pid_)
            status_ = ExitStatus::of_wait(wait_status);
        else if (errno != EINTR)
            throw std::system_error(errno, std::generic_category(), "waitpid");
    return *status_;
}

Captured run_and_capture(const ProcessOptions& options, std::chrono::milliseconds limit,
                         std::chrono::milliseconds limit_of_busy) {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::milliseconds until_asked_again{500};
    auto with_pipe = options;
    with_pipe.pipe_input = options.pipe_input || !options.input.empty();
    Subprocess child(with_pipe);
    if (!options.input.empty()) write_all(child.stdin_fd(), options.input);
    child.close_stdin();
    Captured result;
    const auto begin = Clock::now();
    auto deadline = begin + limit;
    BusyProcess program(child.pid());
    std::array<pollfd, 2> streams{{{child.stdout_fd(), POLLIN, 0}, {child.stderr_fd(), POLLIN, 0}}};
    std::array<char, 4096> buffer;
    while (streams[0].fd >= 0 || streams[1].fd >= 0) {
        const auto now = Clock::now();
        if (now >= deadline && now < begin + limit_of_busy && program.is_busy())
            deadline = std::min(now + until_asked_again, begin + limit_of_busy);
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now);
        if (left.count() <= 0) {
            child.send(SIGKILL);
            break;
        }
        if (::poll(streams.data(), streams.size(), static_cast<int>(left.count())) < 0 && errno != EINTR)
            break;
        for (auto& stream : streams) {
            if (stream.fd < 0 || stream.revents == 0) continue;
            const auto got = ::read(stream.fd, buffer.data(), buffer.size());
            if (got > 0)
                (stream.fd == child.stdout_fd() ? result.out : result.err)
                    .append(buffer.data(), static_cast<std::size_t>(got));
            else if (got == 0 || errno != EINTR)
                stream.fd = -1;
        }
    }
    result.status = child.wait();
    return result;
}

}  // namespace dtrain
