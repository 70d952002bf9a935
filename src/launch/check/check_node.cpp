// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/check/check_node.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <mutex>
#include <optional>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>
#include <dtrain/version.hpp>

#include "base/host.hpp"
#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "launch/backend/mpirun/mpirun.hpp"
#include "launch/check/check_messages.hpp"
#include "launch/check/check_probe.hpp"
#include "transport/tcp.hpp"

namespace dtrain::launch {
namespace {

namespace fs = std::filesystem;
using Milliseconds = std::chrono::milliseconds;

constexpr Milliseconds connect_limit{5000};
constexpr Milliseconds report_limit{20'000};  // GPUs take long if the driver is not in persistence mode
constexpr std::size_t max_line = 16 << 20;

std::string error_text(int error) {
    return std::generic_category().message(error);
}

NodeInfo gather_info(const CheckTask& task, const Environment& environment) {
    NodeInfo info{.host_name = host_name(), .dtrain = version};
    auto of_job = environment;
    for (const auto& [name, value] : task.variables) of_job.set(name, value);
    const auto worker = this_executable().parent_path().parent_path().parent_path() / "bin" / "dtrain-worker";
    try {
        const auto said =
            run_and_capture({.argv = {worker.string(), "--info=json"}, .environment = of_job}, report_limit);
        if (said.status.success())
            info = with_machine_info(info, said.out);
        else
            info.worker_error = said.err.empty() ? said.status.to_string() : one_line(trimmed(said.err));
    } catch (const Error& error) {
        info.worker_error = error.what();
    }
    if (find_in_path("mpirun", environment)) {
        const auto answer =
            run_and_capture({.argv = {"mpirun", "--version"}, .environment = environment}, report_limit);
        const auto found = parse_mpirun_version(answer.out);
        info.mpirun = found ? fmt::format("Open MPI {}.{}", found->major, found->minor)
                            : one_line(trimmed(answer.out.substr(0, answer.out.find('\n'))));
    }
    struct statvfs shm {};
    if (::statvfs("/dev/shm", &shm) == 0) {
        info.shm_bytes = shm.f_blocks * shm.f_frsize;
        info.shm_free = shm.f_bavail * shm.f_frsize;
    }
    rlimit limit{};
    if (::getrlimit(RLIMIT_MEMLOCK, &limit) == 0) info.memlock = limit.rlim_cur;
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) info.open_files = limit.rlim_cur;
    info.log_dir_error = why_not_writable(task.log_dir);
    if (::access(task.working_dir.c_str(), X_OK) != 0) info.working_dir_error = error_text(errno);
    return info;
}

/// Writes the answers to the asking machine; thread-safe.
class Answers {
  public:
    explicit Answers(int fd) : fd_(fd) {}
    void send(const FromChecked& message, const std::string& nonce) {
        const std::lock_guard lock(mutex_);
        write_all(fd_, to_line(message, nonce) + "\n");
    }

  private:
    int fd_;
    std::mutex mutex_;
};

class NodeCheck {
  public:
    NodeCheck(int in, int out, const Environment& environment)
        : in_(in), answers_(out), environment_(environment) {}

    int run() {
        reactor_.watch(in_, EPOLLIN, [this](std::uint32_t) { read(); });
        while (!done_) reactor_.wait(Milliseconds(1000));
        return 0;
    }

  private:
    void read() {
        std::array<char, 65536> buffer;
        const auto got = ::read(in_, buffer.data(), buffer.size());
        if (got <= 0 || input_.size() > max_line) {
            reactor_.forget(in_);
            done_ = true;
            return;
        }
        input_.append(buffer.data(), static_cast<std::size_t>(got));
        for (auto end = input_.find('\n'); end != std::string::npos; end = input_.find('\n')) {
            const auto line = input_.substr(0, end);
            input_.erase(0, end + 1);
            std::visit([this](const auto& message) { take(message); }, parse_to_checked(line));
        }
    }

    void take(const CheckTask& task) {
        ::alarm(
            static_cast<unsigned>(std::max(1, task.lifetime_s)));  // whatever happens to the asking machine
        nonce_ = task.nonce;
        server_.emplace(reactor_, nonce_);
        auto info = gather_info(task, environment_);
        info.port = server_->port();
        answers_.send(info, nonce_);
    }

    void take(const std::vector<CheckPeer>& peers) {
        for (const auto& peer : peers)
            probes_.emplace_back([this, peer] { answers_.send(probe(peer, nonce_, connect_limit), nonce_); });
    }

    int in_;
    Answers answers_;
    const Environment& environment_;
    transport::Reactor reactor_;
    std::optional<ProbeServer> server_;
    std::string nonce_;
    std::string input_;
    bool done_ = false;
    std::vector<std::jthread> probes_;
};

FileDescriptor call(const std::vector<std::string>& args) {
    const auto port = args.size() == 5 ? parse_int(args[2]) : std::nullopt;
    if (!port || args[0] != "--call")
        throw UsageError("dtrain-check is started by dtrain-launch --check, on each node; run that");
    auto made = transport::connect_to(args[1], *port, connect_limit);
    if (const auto* error = std::get_if<std::string>(&made))
        throw Error(fmt::format("cannot connect to {} port {}: {}", args[1], *port, *error));
    auto socket = std::move(std::get<FileDescriptor>(made));
    ::fcntl(socket.get(), F_SETFL, ::fcntl(socket.get(), F_GETFL) & ~O_NONBLOCK);
    write_all(socket.get(), fmt::format("{} {}\n", args[3], args[4]));
    return socket;
}

}  // namespace

std::string why_not_writable(const std::string& folder) {
    fs::path existing = folder;
    std::error_code error;
    while (!fs::exists(existing, error) && existing.has_relative_path()) existing = existing.parent_path();
    if (error) return error.message();
    auto name = (existing / ".dtrain-check.XXXXXX").string();
    const FileDescriptor file(::mkostemp(name.data(), O_CLOEXEC));
    if (!file.valid()) return error_text(errno);
    const std::string page(4096, '\0');
    const bool written = write_all(file.get(), page);
    const int why = errno;
    ::unlink(name.c_str());
    return written ? "" : error_text(why);
}

int run_check_node(const std::vector<std::string>& arguments, const Environment& environment) {
    ::signal(SIGPIPE, SIG_IGN);
    if (arguments.empty()) return NodeCheck(STDIN_FILENO, STDOUT_FILENO, environment).run();
    const auto socket = call(arguments);
    return NodeCheck(socket.get(), socket.get(), environment).run();
}

}  // namespace dtrain::launch
