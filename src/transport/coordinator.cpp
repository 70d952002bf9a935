// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "transport/coordinator.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/epoll.h>
#include <utility>

#include <fmt/format.h>

#include "base/log.hpp"
#include "transport/key_file.hpp"
#include "transport/tcp.hpp"
#include "transport/timeouts.hpp"

namespace dtrain::transport {
namespace {

using Clock = Connection::Clock;
using std::chrono::milliseconds;

constexpr int accepted_at_once = 64;  // before established connections are served again
constexpr milliseconds poll_period{1'000};
constexpr milliseconds final_flush_timeout{2'000};
constexpr std::size_t max_warnings = 8;

}  // namespace

Coordinator::Coordinator(Options options)
    : options_(std::move(options)), reactor_(options_.now), max_unauthenticated_(max_idle_connections()) {
    reactor_.watch(options_.listener.get(), EPOLLIN, [this](std::uint32_t) { accept_some(); });
    reactor_.every(poll_period, [this] { check_clock(); });
}

Coordinator::~Coordinator() = default;

void Coordinator::accept_some() {
    for (int count = 0; count < accepted_at_once; ++count) {
        auto socket = accept_from(options_.listener);
        if (!socket.valid()) {
            if (!lacks_resources(errno)) return;
            if (!make_room()) return listen(false);
            continue;
        }
        if (unauthenticated_.size() >= max_unauthenticated_) make_room();
        const int fd = socket.get();
        peers_.emplace(fd, Peer{.connection = {std::move(socket), Channel::Side::coordinator, options_.key,
                                               reactor_.now()}});
        unauthenticated_.push_back(fd);
        reactor_.watch(fd, EPOLLIN, [this, fd](std::uint32_t events) { serve_peer(fd, events); });
        serve_peer(fd, EPOLLIN);  // an agent has already sent its proof, and must not be dropped
    }
}

/// Disabled until the next timer tick, because a connection that cannot be accepted would wake the reactor
/// endlessly.
void Coordinator::listen(bool wanted) {
    if (wanted == listening_) return;
    listening_ = wanted;
    reactor_.change(options_.listener.get(), wanted ? std::uint32_t{EPOLLIN} : 0);
}

/// An agent proves its key within a round trip, so the oldest unauthenticated peer is least likely to be one.
bool Coordinator::make_room() {
    if (unauthenticated_.empty()) return false;
    const auto silent = std::find_if(unauthenticated_.begin(), unauthenticated_.end(),
                                     [this](int fd) { return !peers_.at(fd).connection.has_begun(); });
    drop(silent == unauthenticated_.end() ? unauthenticated_.front() : *silent, "others came");
    return true;
}

void Coordinator::serve_peer(int fd, std::uint32_t events) {
    auto& connection = peers_.at(fd).connection;
    try {
        if ((events & ~EPOLLOUT) != 0 && !connection.read(reactor_.now()))
            return drop(fd, connection.reason());
        take_messages(fd);
    } catch (const WrongKey& error) {
        refuse_key(connection.peer());
        return drop(fd, error.what());
    } catch (const LinkError& error) {
        log_debug("{} is not served: {}", connection.peer(), error.what());
        return drop(fd, error.what());
    }
    flush(fd);
}

void Coordinator::take_messages(int fd) {
    while (peers_.contains(fd)) {
        auto message = peers_.at(fd).connection.next();
        if (!message) return;
        take(fd, *message);
    }
}

void Coordinator::take(int fd, const Message& message) {
    auto& peer = peers_.at(fd);
    if (peer.leaving) return;
    if (const auto* request = std::get_if<JoinRequest>(&message); request != nullptr && !peer.node)
        return accepted(fd, *request);
    if (!peer.node) throw LinkError("this launcher has not said who it is");
    const auto to_agent = [&](int run) {
        const auto shell = remote_shell_of_.find(*peer.node);
        if (run == run_ && shell != remote_shell_of_.end()) remote_shells_->send(shell->second, message);
    };
    if (const auto* output = std::get_if<DaemonOutput>(&message)) to_agent(output->run);
    if (const auto* ended = std::get_if<DaemonEnded>(&message)) to_agent(ended->run);
    if (const auto* stop = std::get_if<StopJob>(&message); stop != nullptr && asked_to_stop_by_ == 0)
        asked_to_stop_by_ = stop->signal;
}

void Coordinator::accepted(int fd, const JoinRequest& request) {
    auto& peer = peers_.at(fd);
    auto admission = options_.admit(request);
    if (const auto* refused = std::get_if<Refused>(&admission)) {
        if (!refusal_ && !refused->of_another_job)
            refusal_ = fmt::format("{} ({}): {}", request.host_name, peer.connection.peer(), refused->reason);
        peer.connection.send(*refused);
        peer.leaving = true;
        return;
    }
    const int node = std::get<int>(admission);
    if (agents_.contains(node)) {
        peer.connection.send(Refused{fmt::format("node {} is there already", node)});
        peer.leaving = true;
        return;
    }
    std::erase(unauthenticated_, fd);
    peer.node = node;
    agents_[node] = fd;
    requests_[node] = request;
    lost_.erase(node);
    if (options_.arrived) options_.arrived(node);
}

void Coordinator::flush(int fd) {
    const auto found = peers_.find(fd);
    if (found == peers_.end()) return;
    auto& [connection, node, leaving] = found->second;
    if (!connection.write()) return drop(fd, connection.reason());
    if (leaving && !connection.has_output()) return drop(fd, "refused");
    reactor_.change(fd, connection.has_output() ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void Coordinator::drop(int fd, std::string reason) {  // by value: it may refer to a member of the erased peer
    const auto node = peers_.at(fd).node;
    reactor_.forget(fd);
    peers_.erase(fd);
    std::erase(unauthenticated_, fd);
    if (!node) return;
    agents_.erase(*node);
    lost_[*node] = std::move(reason);
    if (const auto shell = remote_shell_of_.find(*node); shell != remote_shell_of_.end())
        remote_shells_->send(shell->second, DaemonEnded{.run = run_, .status = 1, .reason = lost_.at(*node)});
}

/// Warns once per address, and only about a limited number of them, so that an attacker cannot fill the log.
void Coordinator::refuse_key(const std::string& peer) {
    if (other_keys_.size() >= max_warnings || !other_keys_.insert(peer).second) return;
    log_warning("a launcher on {} has another key and was refused; if it is yours, {}", peer,
                how_to_copy_key(options_.name, peer));
}

void Coordinator::check_clock() {
    const auto now = reactor_.now();
    listen(true);
    if (remote_shells_) remote_shells_->resume();
    while (!unauthenticated_.empty() &&
           now - peers_.at(unauthenticated_.front()).connection.begin() > authentication_timeout)
        drop(unauthenticated_.front(), "it proved no key in time");
    std::vector<int> silent;
    for (const auto& [node, fd] : agents_)
        if (const auto& connection = peers_.at(fd).connection;
            now - connection.last_heard() > max_silence && !connection.has_input())
            silent.push_back(fd);
    for (const int fd : silent) drop(fd, "it says nothing any more");
    send_to_all(Heartbeat{});
}

void Coordinator::renumber(const std::vector<int>& numbers) {
    std::map<int, int> agents;
    std::map<int, JoinRequest> requests;
    for (const auto& [node, fd] : agents_) {
        const int number = numbers.at(static_cast<std::size_t>(node));
        agents[number] = fd;
        requests[number] = requests_.at(node);
        peers_.at(fd).node = number;
    }
    agents_ = std::move(agents);
    requests_ = std::move(requests);
}

void Coordinator::send(int node, const Message& message) {
    const auto found = agents_.find(node);
    if (found == agents_.end()) return;
    const int fd = found->second;
    try {
        peers_.at(fd).connection.send(message);
    } catch (const LinkError& error) {
        return drop(fd, error.what());
    }
    flush(fd);
}

void Coordinator::send_to_all(const Message& message) {
    std::vector<int> nodes;
    for (const auto& [node, fd] : agents_) nodes.push_back(node);
    for (const int node : nodes) send(node, message);
}

void Coordinator::serve_remote_shells(const std::string& path) {
    remote_shells_ = std::make_unique<RemoteShells>(
        reactor_, path,
        RemoteShells::Actions{.asked = [this](int shell, const RunOn& wish) { run_on(shell, wish); },
                              .gone = [this](int shell) { remote_shell_gone(shell); },
                              .make_room = [this] { return make_room(); }});
}

void Coordinator::begin_run(const JobInfo& info, std::vector<std::string> names,
                            std::vector<std::string> hosts) {
    for (const auto& [node, shell] : std::exchange(remote_shell_of_, {})) send(node, StopDaemon{run_});
    info_ = info;
    names_ = std::move(names);
    hosts_ = std::move(hosts);
    ++run_;
    lost_.clear();
    refusal_.reset();
}

void Coordinator::run_on(int shell, const RunOn& wish) {
    const auto found = std::find(names_.begin(), names_.end(), wish.host);
    const auto node = static_cast<int>(found - names_.begin());
    const auto refuse = [&](std::string reason) {
        remote_shells_->send(shell, DaemonEnded{.run = run_, .status = 1, .reason = std::move(reason)});
    };
    if (found != names_.end() && is_connected(node)) {
        const RunDaemon run{.run = run_,
                            .command = wish.command,
                            .job_token = info_.job_token,
                            .grace_ms = static_cast<int>(info_.grace.count())};
        if (remote_shell_of_.contains(node)) return refuse("another remote shell runs its MPI daemon");
        if (encode(run).size() > max_message)
            return refuse(fmt::format("the command of {} bytes for its MPI daemon is too long for the link",
                                      wish.command.size()));
        remote_shell_of_[node] = shell;
        send(node, run);
    } else if (const auto lost = lost_.find(node); lost != lost_.end()) {
        refuse(lost->second);
    } else {
        remote_shells_->send(shell,
                             UseSsh{found == names_.end() ? "" : hosts_.at(static_cast<std::size_t>(node))});
    }
}

void Coordinator::remote_shell_gone(int shell) {
    for (auto each = remote_shell_of_.begin(); each != remote_shell_of_.end(); ++each) {
        if (each->second != shell) continue;
        send(each->first, StopDaemon{run_});
        remote_shell_of_.erase(each);
        return;
    }
}

void Coordinator::end(const JobEnded& ending) {
    send_to_all(ending);
    const auto give_up_at = Clock::now() + final_flush_timeout;
    const auto unsent = [this] {
        return std::any_of(peers_.begin(), peers_.end(), [](const auto& each) {
            return each.second.node && each.second.connection.has_output();
        });
    };
    while (unsent() && Clock::now() < give_up_at) reactor_.wait(poll_period);
}

}  // namespace dtrain::transport
