// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "link/remote_shells.hpp"

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

constexpr std::size_t max_kept_for_remote_shell = 4 * 1024 * 1024;

}  // namespace

RemoteShells::RemoteShells(Reactor& reactor, const std::string& path, Actions actions)
    : reactor_(reactor), actions_(std::move(actions)), listener_(listen_at_path(path)) {
    reactor_.watch(listener_.get(), EPOLLIN, [this](std::uint32_t) { accept_one(); });
}

RemoteShells::~RemoteShells() {
    reactor_.forget(listener_.get());
    for (const auto& [fd, shell] : remote_shells_) reactor_.forget(fd);
}

void RemoteShells::accept_one() {
    auto socket = accept_from(listener_);
    while (!socket.valid() && lacks_resources(errno) && actions_.make_room()) socket = accept_from(listener_);
    if (!socket.valid()) return;
    const int fd = socket.get();
    remote_shells_.emplace(fd, RemoteShell{.socket = std::move(socket), .frames = FrameReader(max_message)});
    reactor_.watch(fd, EPOLLIN, [this, fd](std::uint32_t events) { serve(fd, events); });
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
    auto& frames = remote_shells_.at(shell).frames;
    frames.take({buffer.data(), static_cast<std::size_t>(got)});
    try {
        while (const auto frame = frames.next())
            if (const auto message = decode(*frame); const auto* wish = std::get_if<RunOn>(&message))
                actions_.asked(shell, *wish);
    } catch (const LinkError&) {
        end(shell);
    }
}

void RemoteShells::end(int shell) {
    reactor_.forget(shell);
    remote_shells_.erase(shell);
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
    if (found == remote_shells_.end()) return;
    auto& [socket, frames, output, left_out] = found->second;
    const auto* printed = std::get_if<DaemonOutput>(&message);
    if (printed != nullptr && output.size() > max_kept_for_remote_shell) {
        if (std::exchange(left_out, true)) return;
        output += framed(encode(
            DaemonOutput{.run = printed->run, .to_stderr = true, .text = "[some output is left out]\n"}));
    } else {
        output += framed(encode(message));
    }
    write_to(shell);
}

}  // namespace dtrain::link
