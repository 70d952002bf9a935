// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/check/check_probe.hpp"

#include <array>
#include <cerrno>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <optional>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/ports.hpp"
#include "base/text.hpp"
#include "transport/tcp.hpp"

namespace dtrain::launch {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

constexpr std::size_t max_callers = 1024;
constexpr int comparisons = 5;

void send_at_once(const FileDescriptor& socket) {
    const int yes = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

std::int64_t microseconds(Clock::duration time) {
    return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

/// Reads a line from a non-blocking socket; nothing if it does not arrive in time.
std::optional<std::string> read_line(int fd, Clock::time_point until) {
    std::string line;
    while (line.size() < 64) {
        const auto left = std::chrono::duration_cast<Milliseconds>(until - Clock::now());
        pollfd waiting{fd, POLLIN, 0};
        if (left.count() <= 0 || ::poll(&waiting, 1, static_cast<int>(left.count())) <= 0)
            return std::nullopt;
        char byte = 0;
        if (::read(fd, &byte, 1) != 1) return std::nullopt;
        if (byte == '\n') return line;
        line += byte;
    }
    return std::nullopt;
}

}  // namespace

std::int64_t wall_clock_us() {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

ProbeServer::ProbeServer(transport::Reactor& reactor, std::string nonce, WallClock clock)
    : reactor_(reactor),
      nonce_(std::move(nonce)),
      clock_(std::move(clock)),
      listener_(transport::listen_at("::", 0)) {
    if (!listener_.valid())
        throw Error(
            fmt::format("this machine has no free TCP port: {}", std::generic_category().message(errno)));
    reactor_.watch(listener_.get(), EPOLLIN, [this](std::uint32_t) { accept(); });
}

int ProbeServer::port() const {
    return port_of(listener_);
}

void ProbeServer::accept() {
    auto socket = transport::accept_from(listener_);
    if (!socket.valid() || callers_.size() == max_callers) return;
    send_at_once(socket);
    const int fd = socket.get();
    callers_[fd].socket = std::move(socket);
    reactor_.watch(fd, EPOLLIN, [this, fd](std::uint32_t) { serve(fd); });
}

void ProbeServer::serve(int fd) {
    std::array<char, 64> buffer;
    const auto got = ::read(fd, buffer.data(), buffer.size());
    if (got <= 0) return close(fd);
    auto& introduction = callers_.at(fd).introduction;
    for (const char byte : std::string_view(buffer.data(), static_cast<std::size_t>(got))) {
        if (introduction.size() < nonce_.size()) {
            introduction += byte;
            if (!nonce_.starts_with(introduction)) return close(fd);
        } else if (!write_all(fd, fmt::format("{}\n", clock_()))) {
            return close(fd);
        }
    }
}

void ProbeServer::close(int fd) {
    reactor_.forget(fd);
    callers_.erase(fd);
}

ProbeResult probe(const CheckPeer& peer, const std::string& nonce, Milliseconds limit,
                  const WallClock& clock) {
    ProbeResult result{.to = peer.node};
    const auto failed = [&](const std::string& error) {
        result.error = error;
        return result;
    };
    try {
        auto made = transport::connect_to(peer.host, peer.port, limit);
        if (const auto* error = std::get_if<std::string>(&made)) return failed(*error);
        const auto& socket = std::get<FileDescriptor>(made);
        send_at_once(socket);
        const auto until = Clock::now() + limit;
        write_all(socket.get(), nonce);
        for (int comparison = 0; comparison < comparisons; ++comparison) {
            const auto asked = Clock::now();
            const auto own_time = clock();
            write_all(socket.get(), "?");
            const auto line = read_line(socket.get(), until);
            const auto round_trip = microseconds(Clock::now() - asked);
            const auto their_time = line ? parse_int<std::int64_t>(*line) : std::nullopt;
            if (!their_time) return failed("another program answers there, or nobody in time");
            if (comparison > 0 && round_trip >= result.round_trip_us) continue;
            result.round_trip_us = round_trip;
            result.other_ahead_us = *their_time - (own_time + round_trip / 2);
        }
    } catch (const Error& error) {
        return failed(error.what());
    }
    return result;
}

}  // namespace dtrain::launch
