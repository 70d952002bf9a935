// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "link/agents.hpp"

#include <array>
#include <cerrno>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "link/channel.hpp"
#include "link/tcp.hpp"
#include "link/unix_socket.hpp"

namespace dtrain::link {
namespace {

constexpr std::size_t max_kept_for_agent = 4 * 1024 * 1024;

}  // namespace

Agents::Agents(Reactor& reactor, const std::string& path, Actions actions)
    : reactor_(reactor), actions_(std::move(actions)), listener_(listen_at_path(path)) {
    reactor_.watch(listener_.get(), EPOLLIN, [this](std::uint32_t) { accept_one(); });
}

Agents::~Agents() {
    reactor_.forget(listener_.get());
    for (const auto& [fd, agent] : agents_) reactor_.forget(fd);
}

void Agents::accept_one() {
    auto socket = accept_from(listener_);
    while (!socket.valid() && lacks_resources(errno) && actions_.make_room()) socket = accept_from(listener_);
    if (!socket.valid()) return;
    const int fd = socket.get();
    agents_.emplace(fd, Agent{.socket = std::move(socket), .frames = FrameReader(max_message)});
    reactor_.watch(fd, EPOLLIN, [this, fd](std::uint32_t events) { serve(fd, events); });
}

void Agents::serve(int agent, std::uint32_t events) {
    if ((events & EPOLLOUT) != 0) write_to(agent);
    if ((events & ~EPOLLOUT) != 0) read_from(agent);
}

void Agents::read_from(int agent) {
    std::array<char, 16 * 1024> buffer;
    const auto got = ::read(agent, buffer.data(), buffer.size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) return end(agent);
    auto& frames = agents_.at(agent).frames;
    frames.take({buffer.data(), static_cast<std::size_t>(got)});
    try {
        while (const auto frame = frames.next())
            if (const auto message = decode(*frame); const auto* wish = std::get_if<RunOn>(&message))
                actions_.asked(agent, *wish);
    } catch (const LinkError&) {
        end(agent);
    }
}

void Agents::end(int agent) {
    reactor_.forget(agent);
    agents_.erase(agent);
    actions_.gone(agent);
}

/// A broken connection is seen where it is read.
void Agents::write_to(int agent) {
    auto& output = agents_.at(agent).output;
    while (!output.empty()) {
        const auto sent = ::send(agent, output.data(), output.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && errno != EAGAIN) output.clear();
        if (sent < 0) break;
        output.erase(0, static_cast<std::size_t>(sent));
    }
    reactor_.change(agent, output.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT);
}

/// An agent prints what its daemon printed, and somebody may have stopped it: of that not everything is kept.
void Agents::send(int agent, const Message& message) {
    const auto found = agents_.find(agent);
    if (found == agents_.end()) return;
    auto& [socket, frames, output, left_out] = found->second;
    const auto* printed = std::get_if<DaemonOutput>(&message);
    if (printed != nullptr && output.size() > max_kept_for_agent) {
        if (std::exchange(left_out, true)) return;
        output += framed(encode(
            DaemonOutput{.run = printed->run, .to_stderr = true, .text = "[some output is left out]\n"}));
    } else {
        output += framed(encode(message));
    }
    write_to(agent);
}

}  // namespace dtrain::link
