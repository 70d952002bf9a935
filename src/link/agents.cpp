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
#include "link/unix_socket.hpp"

namespace dtrain::link {

Agents::Agents(Reactor& reactor, const std::string& path, Actions actions)
    : reactor_(reactor), actions_(std::move(actions)), listener_(listen_at_path(path)) {
    reactor_.watch(listener_.get(), EPOLLIN, [this](std::uint32_t) { accept_one(); });
}

Agents::~Agents() {
    reactor_.forget(listener_.get());
    for (const auto& [fd, agent] : agents_) reactor_.forget(fd);
}

void Agents::accept_one() {
    FileDescriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.valid()) return;
    const int fd = socket.get();
    agents_.emplace(fd, Agent{std::move(socket), FrameReader(longest_message)});
    reactor_.watch(fd, EPOLLIN, [this, fd](std::uint32_t) { read_from(fd); });
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

void Agents::send(int agent, const Message& message) {
    // Little is ever said, and an agent does nothing but listen: what does not fit at once is not worth a
    // queue.
    if (agents_.contains(agent)) write_all(agent, framed(encode(message)));
}

}  // namespace dtrain::link
