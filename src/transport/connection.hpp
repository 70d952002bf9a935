// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/files.hpp"
#include "transport/channel.hpp"
#include "transport/messages.hpp"

namespace dtrain::transport {

/// A connection between two launchers, with its messages. Never blocks.
class Connection {
  public:
    using Clock = std::chrono::steady_clock;

    Connection(FileDescriptor socket, Channel::Side side, const Key& key,
               Clock::time_point now = Clock::now());

    int fd() const { return socket_.get(); }
    const std::string& peer() const { return peer_; }
    bool open() const { return channel_.open(); }
    bool has_begun() const { return channel_.has_begun(); }
    Clock::time_point begin() const { return begin_; }
    Clock::time_point last_heard() const { return last_heard_; }

    /// Reads what has arrived; false if the other side has closed the connection or is gone.
    /// @throws WrongKey, LinkError
    bool read(Clock::time_point now = Clock::now());

    /// Whether data has arrived that read() has not read yet.
    bool has_input() const;

    /// The next message, or nothing.
    /// @throws LinkError for an invalid message
    std::optional<Message> next();

    void send(const Message& message);

    /// Sends as much as the socket accepts now; false if the other side's machine is gone. That the other
    /// side has ended is no error here: read() tells it, after what was said before.
    bool write();
    bool has_output() const { return !output_.empty(); }

    /// Why read() or write() returned false.
    const std::string& reason() const { return reason_; }

  private:
    bool lost(int error);

    FileDescriptor socket_;
    Channel channel_;
    std::string peer_;
    std::string output_;
    std::string reason_;
    Clock::time_point begin_;
    Clock::time_point last_heard_;
};

}  // namespace dtrain::transport
