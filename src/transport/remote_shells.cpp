// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "transport/remote_shells.hpp"

#include <array>
#include <cerrno>
#include <numeric>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "base/log.hpp"
#include "transport/channel.hpp"
#include "transport/tcp.hpp"
#include "transport/unix_socket.hpp"

namespace dtrain::transport {
namespace {

constexpr std::size_t max_kept_for_remote_shell = 4 * 1024 * 1024;
constexpr std::size_t max_unfinished = 16 * max_message;  // bytes of messages that all of them have begun
constexpr const char* says_too_much = "it says more than what it wants";

bool is_final(const Message& message) {
    return std::holds_alternative<DaemonEnded>(message) || std::holds_alternative<UseSsh>(message);
}

}  // namespace

RemoteShells::RemoteShells(Reactor& reactor, const std::string& path, Actions actions)
    : reactor_(reactor),
      actions_(std::move(actions)),
      listener_(listen_at_path(path)),
      max_idle_(max_idle_connections()) {
    reactor_.watch(listener_.get(), EPOLLIN, [this](std::uint32_t) { accept_one(); });
}

RemoteShells::~RemoteShells() {
    reactor_.forget(listener_.get());
    for (const auto& [fd, shell] : remote_shells_) reactor_.forget(fd);
}

void RemoteShells::accept_one() {
    auto socket = accept_from(listener_);
    while (!socket.valid() && lacks_resources(errno)) {
        if (!make_room()) return listen(false);
        socket = accept_from(listener_);
    }
    if (!socket.valid()) return;
    if (idle_.size() >= max_idle_) end(idle_.front());
    const int fd = socket.get();
    remote_shells_.emplace(fd, RemoteShell{.socket = std::move(socket), .frames = FrameReader(max_message)});
    idle_.push_back(fd);
    reactor_.watch(fd, EPOLLIN, [this, fd](std::uint32_t events) { serve(fd, events); });
    read_from(fd);  // mpirun's has asked already, and must not be taken for an idle one
}

bool RemoteShells::make_room() {
    if (actions_.make_room()) return true;
    if (idle_.empty()) return false;
    end(idle_.front());
    return true;
}

/// A connection that cannot be accepted would wake the reactor endlessly.
void RemoteShells::listen(bool wanted) {
    if (wanted == listening_) return;
    listening_ = wanted;
    reactor_.change(listener_.get(), wanted ? std::uint32_t{EPOLLIN} : 0);
}

void RemoteShells::serve(int shell, std::uint32_t events) {
    if ((events & EPOLLOUT) != 0) write_to(shell);
    if ((events & ~EPOLLOUT) != 0) read_from(shell);
}

void RemoteShells::read_from(int shell) {
    std::array<char, 16 * 1024> buffer;
    const auto got = ::read(shell, buffer.data(), buffer.size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) return end(shell);
    auto& each = remote_shells_.at(shell);
    auto& frames = each.frames;
    frames.take({buffer.data(), static_cast<std::size_t>(got)});
    try {
        while (const auto frame = frames.next()) take(shell, decode(*frame));
        if (each.asked && frames.waiting() > 0) throw LinkError(says_too_much);
    } catch (const LinkError& error) {
        log_debug("a remote shell is not served: {}", error.what());
        return end(shell);
    }
    limit_unfinished();
}

void RemoteShells::take(int shell, const Message& message) {
    const auto* wish = std::get_if<RunOn>(&message);
    auto& asked = remote_shells_.at(shell).asked;
    if (wish == nullptr || asked) throw LinkError(says_too_much);
    asked = true;
    std::erase(idle_, shell);
    actions_.asked(shell, *wish);
}

/// A remote shell's message is complete within moments, so that the oldest is least likely to be one.
void RemoteShells::limit_unfinished() {
    const auto unfinished = [this] {
        return std::accumulate(
            idle_.begin(), idle_.end(), std::size_t{0},
            [this](std::size_t sum, int shell) { return sum + remote_shells_.at(shell).frames.waiting(); });
    };
    while (!idle_.empty() && unfinished() > max_unfinished) end(idle_.front());
}

void RemoteShells::end(int shell) {
    reactor_.forget(shell);
    remote_shells_.erase(shell);
    std::erase(idle_, shell);
    actions_.gone(shell);
}

/// A broken connection is detected when reading.
void RemoteShells::write_to(int shell) {
    auto& output = remote_shells_.at(shell).output;
    while (!output.empty()) {
        const auto sent = ::send(shell, output.data(), output.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && errno != EAGAIN) output.clear();
        if (sent < 0) break;
        output.erase(0, static_cast<std::size_t>(sent));
    }
    reactor_.change(shell, output.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT);
}

/// A remote shell prints the output of its daemon and may have been stopped, so output beyond a limit is
/// dropped.
void RemoteShells::send(int shell, const Message& message) {
    const auto found = remote_shells_.find(shell);
    if (found == remote_shells_.end() || found->second.answered) return;
    auto& output = found->second.output;
    const auto* printed = std::get_if<DaemonOutput>(&message);
    if (printed != nullptr && output.size() > max_kept_for_remote_shell) {
        if (std::exchange(found->second.left_out, true)) return;
        output += framed(encode(
            DaemonOutput{.run = printed->run, .to_stderr = true, .text = "[some output is left out]\n"}));
    } else {
        output += framed(encode(message));
    }
    if (is_final(message)) {
        found->second.answered = true;
        idle_.push_back(shell);
    }
    write_to(shell);
}

}  // namespace dtrain::transport
