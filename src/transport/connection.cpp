// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "transport/connection.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <utility>

#include "transport/tcp.hpp"

namespace dtrain::transport {
namespace {

constexpr std::size_t max_unsent = 16 * 1024 * 1024;

/// Which of these it is depends on what the other side had not read when it ended.
bool tells_of_an_end(int error) {
    return error == ECONNRESET || error == EPIPE;
}

}  // namespace

Connection::Connection(FileDescriptor socket, Channel::Side side, const Key& key, Clock::time_point now)
    : socket_(std::move(socket)),
      channel_(side, key),
      peer_(peer_of(socket_)),
      begin_(now),
      last_heard_(now) {
    notice_silence(socket_);
    output_ = channel_.take_output();
}

bool Connection::lost(int error) {
    if (error == EAGAIN || error == EINTR) return true;
    reason_ = error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH
                  ? "its machine does not answer any more"
                  : std::strerror(error);
    return false;
}

bool Connection::read(Clock::time_point now) {
    std::array<char, 64 * 1024> buffer;
    const auto got = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (got < 0 && !tells_of_an_end(errno)) return lost(errno);
    if (got <= 0) {
        reason_ = open() ? "it ended or was killed (its connection is closed)" : "it closed the connection";
        return false;
    }
    last_heard_ = now;
    try {
        channel_.take({buffer.data(), static_cast<std::size_t>(got)});
    } catch (const LinkError&) {
        output_ += channel_.take_output();  // may tell the other side the reason
        write();
        throw;
    }
    output_ += channel_.take_output();
    return true;
}

bool Connection::has_input() const {
    pollfd readable{socket_.get(), POLLIN, 0};
    return ::poll(&readable, 1, 0) > 0;
}

std::optional<Message> Connection::next() {
    const auto text = channel_.next();
    if (!text) return std::nullopt;
    return decode(*text);
}

void Connection::send(const Message& message) {
    if (output_.size() > max_unsent) throw LinkError("the other side takes no messages any more");
    channel_.send(encode(message));
    output_ += channel_.take_output();
}

bool Connection::write() {
    while (!output_.empty()) {
        const auto sent = ::send(socket_.get(), output_.data(), output_.size(), MSG_NOSIGNAL);
        if (sent < 0 && tells_of_an_end(errno)) {
            output_.clear();
            break;
        }
        if (sent < 0) return lost(errno);
        output_.erase(0, static_cast<std::size_t>(sent));
    }
    return true;
}

}  // namespace dtrain::transport
