// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/check/check_run.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <memory>
#include <set>
#include <sys/epoll.h>
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/exit_status.hpp"
#include "base/interfaces.hpp"
#include "base/ports.hpp"
#include "base/random_id.hpp"
#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "launch/backend/registry.hpp"
#include "launch/check/check_diagnosis.hpp"
#include "launch/check/check_messages.hpp"
#include "launch/check/check_text.hpp"
#include "transport/reactor.hpp"
#include "transport/tcp.hpp"

namespace dtrain::launch {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds info_limit{30};
constexpr std::chrono::seconds probes_limit{15};
constexpr std::chrono::seconds end_limit{3};
constexpr std::chrono::milliseconds glance{50};
constexpr int wave_lifetime_s = 60;
constexpr std::size_t max_unauthenticated = 256;
constexpr std::size_t max_text = 1 << 20;

/// Search paths of programs and libraries; a job passes them to all nodes.
std::map<std::string, std::string> search_paths(const Environment& environment) {
    std::map<std::string, std::string> out;
    for (const char* name : {"PATH", "LD_LIBRARY_PATH", "LD_PRELOAD"})
        if (const auto value = environment.get(name)) out[name] = *value;
    return out;
}

/// The inspection program on one node.
struct Channel {
    std::unique_ptr<Subprocess> process;
    FileDescriptor called;  ///< its connection, if it calls back
    std::string out;
    std::string err;
    std::set<int> awaited;  ///< nodes whose probe results it has yet to send

    int to_node() const { return called.valid() ? called.get() : process->stdin_fd(); }
};

/// Reads everything that is available; false at the end of the stream.
bool drain(int fd, std::string& text) {
    std::array<char, 65536> buffer;
    for (;;) {
        const auto got = ::read(fd, buffer.data(), buffer.size());
        if (got <= 0) return got < 0 && (errno == EAGAIN || errno == EINTR);
        if (text.size() < max_text) text.append(buffer.data(), static_cast<std::size_t>(got));
    }
}

void make_non_blocking(int fd) {
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

class CheckRun {
  public:
    explicit CheckRun(const CheckSite& site)
        : site_(site),
          nonce_(random_id()),
          channels_(site.plan.nodes.size()),
          nodes_(site.plan.nodes.size()) {
        for (std::size_t node = 0; node < nodes_.size(); ++node) {
            nodes_[node].host = site.plan.nodes[node].host;
            nodes_[node].way = way_to(site, static_cast<int>(node));
            const auto& planned = site.plan.nodes[node];
            nodes_[node].log_dir = planned.log_dir.empty() ? site.plan.log_dir : planned.log_dir;
            nodes_[node].working_dir =
                planned.working_dir.empty() ? site.plan.working_dir : planned.working_dir;
        }
        if (!site.plan.remote_shell.empty() || site.launchers) listen();
        if (site.launchers)
            reactor_.watch(site.launchers->fd, EPOLLIN, [this](std::uint32_t) { site_.launchers->serve(); });
    }

    std::vector<CheckedNode> run() {
        const auto waves = check_waves(count());
        lifetime_s_ = wave_lifetime_s * static_cast<int>(waves.size());
        for (const auto& wave : waves) {
            for (const int node : wave) start(node);
            wait_for(std::min<std::chrono::milliseconds>(info_limit, site_.timeout), [&] {
                return std::all_of(wave.begin(), wave.end(), [&](int node) { return settled(node); });
            });
            for (const int node : wave) note_issue(node);
            connect(wave);
            std::vector<int> done;
            std::copy_if(wave.begin(), wave.end(), std::back_inserter(done),
                         [&](int node) { return node != centre_; });
            end(done);
        }
        if (centre_) end({*centre_});
        return std::move(nodes_);
    }

  private:
    int count() const { return static_cast<int>(nodes_.size()); }
    CheckedNode& node(int number) { return nodes_[static_cast<std::size_t>(number)]; }
    Channel& channel(int number) { return channels_[static_cast<std::size_t>(number)]; }

    void listen() {
        listener_ = transport::listen_at("::", 0);
        if (!listener_.valid()) throw Error("this machine has no free TCP port");
        reactor_.watch(listener_.get(), EPOLLIN, [this](std::uint32_t) { accept(); });
    }

    std::string coordinator_for(int number) const {
        if (site_.plan.own_node) return site_.plan.nodes[static_cast<std::size_t>(*site_.plan.own_node)].host;
        return own_address_towards(nodes_[static_cast<std::size_t>(number)].host).value_or("");
    }

    void start(int number) {
        const CallBack call_back{.port = listener_.valid() ? port_of(listener_) : 0, .nonce = nonce_};
        auto& mine = channel(number);
        if (by_launcher(number)) return site_.launchers->inspect(number, call_back.port, nonce_);
        try {
            mine.process = std::make_unique<Subprocess>(
                ProcessOptions{.argv = check_command(site_, number, coordinator_for(number), call_back),
                               .environment = environment_of_commands(),
                               .pipe_input = true,
                               .parent_death_signal = SIGTERM});
        } catch (const UsageError& error) {
            node(number).issue = Issue{.text = error.what(), .remedy = "install it on this machine"};
            return;
        }
        for (const int fd : {mine.process->stdin_fd(), mine.process->stdout_fd(), mine.process->stderr_fd()})
            make_non_blocking(fd);
        watch(mine.process->stdout_fd(), number, calls_back(number) ? &Channel::err : &Channel::out);
        watch(mine.process->stderr_fd(), number, &Channel::err);
        if (!calls_back(number)) give_task(number);
    }

    /// Variables of this shell do not reach the other nodes, so this node is inspected without them, too.
    Environment environment_of_commands() const {
        const auto& backend = backend_named(site_.plan.engine);
        auto out = backend.inherited(site_.environment);
        const bool by_ssh = !backend.uses_schedulers_daemons() && site_.plan.remote_shell.empty();
        if (by_ssh && count() > 1) out.unset("CUDA_VISIBLE_DEVICES");
        return out;
    }

    const std::string& way_of(int number) const { return nodes_[static_cast<std::size_t>(number)].way; }
    bool by_launcher(int number) const { return way_of(number) == "launcher"; }
    bool calls_back(int number) const {
        const bool by_remote_shell = !site_.plan.remote_shell.empty() && way_of(number) != "here";
        return by_launcher(number) || by_remote_shell;
    }

    void give_task(int number) {
        send(number, CheckTask{.nonce = nonce_,
                               .log_dir = node(number).log_dir,
                               .working_dir = node(number).working_dir,
                               .variables = search_paths(site_.environment),
                               .lifetime_s = lifetime_s_});
    }

    void send(int number, const ToChecked& message) {
        write_all(channel(number).to_node(),
                  to_line(message) + "\n");  // a node that does not read will not answer either
    }

    void watch(int fd, int number, std::string Channel::*text) {
        reactor_.watch(fd, EPOLLIN, [this, fd, number, text](std::uint32_t) {
            auto& mine = channel(number);
            if (!drain(fd, mine.*text)) reactor_.forget(fd);
            if (text == &Channel::out) read_answers(number);
        });
    }

    void read_answers(int number) {
        auto& text = channel(number).out;
        for (auto end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
            const auto answer = parse_from_checked(text.substr(0, end), nonce_);
            text.erase(0, end + 1);
            if (!answer) continue;
            if (const auto* info = std::get_if<NodeInfo>(&*answer)) {
                node(number).info = *info;
            } else {
                const auto& result = std::get<ProbeResult>(*answer);
                if (channel(number).awaited.erase(result.to) > 0) node(number).probes.push_back(result);
            }
        }
    }

    /// The first line of a connection identifies the node.
    void accept() {
        auto socket = transport::accept_from(listener_);
        if (!socket.valid() || unauthenticated_.size() == max_unauthenticated) return;
        const int fd = socket.get();
        unauthenticated_[fd].socket = std::move(socket);
        reactor_.watch(fd, EPOLLIN, [this, fd](std::uint32_t) { accept_from(fd); });
    }

    void accept_from(int fd) {
        auto& unauthenticated = unauthenticated_.at(fd);
        const bool open = drain(fd, unauthenticated.said);
        const auto end = unauthenticated.said.find('\n');
        if (end == std::string::npos && open && unauthenticated.said.size() < 64) return;
        reactor_.forget(fd);
        const auto words = split(std::string_view(unauthenticated.said).substr(0, end), ' ');
        auto socket = std::move(unauthenticated.socket);
        unauthenticated_.erase(fd);
        const auto number = words.size() == 2 && words[0] == nonce_ ? parse_int(words[1]) : std::nullopt;
        if (!number || *number < 0 || *number >= count() || !calls_back(*number) ||
            (!channel(*number).process && !by_launcher(*number)) || channel(*number).called.valid())
            return;
        channel(*number).called = std::move(socket);
        watch(fd, *number, &Channel::out);
        give_task(*number);
    }

    template <class Condition>
    void wait_for(std::chrono::milliseconds limit, const Condition& done) {
        const auto until = Clock::now() + limit;
        while (!done() && Clock::now() < until) reactor_.wait(glance);
    }

    /// It has sent its info, or will not send any.
    bool settled(int number) {
        const auto& mine = channel(number);
        if (node(number).info) return true;
        if (by_launcher(number)) return !site_.launchers->is_connected(number);
        if (!mine.process) return true;
        if (!mine.process->poll()) return false;
        drain(mine.process->stderr_fd(), channel(number).err);
        if (!calls_back(number)) drain(mine.process->stdout_fd(), channel(number).out);
        read_answers(number);
        return true;
    }

    void note_issue(int number) {
        auto& mine = node(number);
        if (mine.info || mine.issue) return;
        if (by_launcher(number)) {
            mine.issue = issue_of_launcher(site_.launchers->is_connected(number), port_of(listener_));
            return;
        }
        const auto status = channel(number).process->poll();
        mine.issue =
            issue_of(mine.way, mine.host, site_.program,
                     status ? std::optional(status->shell_status()) : std::nullopt, channel(number).err);
    }

    void connect(const std::vector<int>& wave) {
        std::vector<int> answered;
        for (const int number : wave)
            if (node(number).info) answered.push_back(number);
        if (answered.empty()) return;
        if (!centre_) centre_ = answered.front();
        const auto targets = probe_targets(answered, *centre_, count());
        for (const auto& [number, others] : targets) {
            std::vector<CheckPeer> peers;
            for (const int other : others)
                peers.push_back({.node = other, .host = node(other).host, .port = node(other).info->port});
            channel(number).awaited = {others.begin(), others.end()};
            send(number, peers);
        }
        wait_for(probes_limit, [&] {
            return std::all_of(targets.begin(), targets.end(), [&](const auto& each) {
                auto& mine = channel(each.first);
                return mine.awaited.empty() || (mine.process ? mine.process->poll().has_value()
                                                             : !site_.launchers->is_connected(each.first));
            });
        });
        for (const auto& [number, others] : targets) {
            for (const int other : channel(number).awaited)
                node(number).probes.push_back({.to = other, .error = "it did not report the result in time"});
            channel(number).awaited.clear();
        }
    }

    /// Closes their stdin so that they end; sends SIGTERM to those that hang.
    void end(const std::vector<int>& numbers) {
        for (const int number : numbers) {
            auto& mine = channel(number);
            if (mine.called.valid()) reactor_.forget(mine.called.get());
            mine.called.reset();
            if (!mine.process) continue;
            for (const int fd : {mine.process->stdout_fd(), mine.process->stderr_fd()}) reactor_.forget(fd);
            mine.process->close_stdin();
        }
        const auto ended = [&] {
            return std::all_of(numbers.begin(), numbers.end(), [&](int number) {
                const auto& process = channel(number).process;
                return !process || process->poll();
            });
        };
        wait_for(end_limit, ended);
        for (const int number : numbers)
            if (channel(number).process) channel(number).process->send(SIGTERM);
        wait_for(end_limit, ended);
        for (const int number : numbers) channel(number).process.reset();
    }

    const CheckSite& site_;
    const std::string nonce_;
    int lifetime_s_ = 0;
    transport::Reactor reactor_;
    FileDescriptor listener_;  ///< for nodes that call back
    struct UnauthenticatedPeer {
        FileDescriptor socket;
        std::string said;
    };
    std::map<int, UnauthenticatedPeer> unauthenticated_;
    std::vector<Channel> channels_;
    std::vector<CheckedNode> nodes_;
    std::optional<int> centre_;
};

/// The number of ranks that --gpus and --nproc_per_node result in.
int max_ranks_of_node(const Plan& plan) {
    std::size_t max = 1;
    for (const auto& node : plan.nodes) max = std::max(max, node.ranks.size());
    return static_cast<int>(max);
}

}  // namespace

int run_check(const CheckSite& site) {
    ::signal(SIGPIPE, SIG_IGN);  // nodes may end while they are written to
    const CheckWants wants{.mpirun = backend_named(site.plan.engine).needs_mpirun(),
                           .ranks_of_node = max_ranks_of_node(site.plan)};
    const auto nodes = CheckRun(site).run();
    const auto findings = diagnose(nodes, wants);
    write_all(STDOUT_FILENO, check_text(nodes, findings));
    const bool any_fault = std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
        return finding.severity == Severity::fault;
    });
    return any_fault ? status_failed : 0;
}

}  // namespace dtrain::launch
