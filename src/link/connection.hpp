// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/files.hpp"
#include "link/channel.hpp"
#include "link/messages.hpp"

namespace dtrain::link {

/// A socket between two launchers, and what is said over it. It never waits.
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

    /// Takes what has arrived; false when the other side has closed the connection or is not there any more.
    /// @throws WrongKey, LinkError
    bool read(Clock::time_point now = Clock::now());

    /// Something has arrived that read() has not taken yet.
    bool has_input() const;

    /// The next message; LinkError for one that cannot be understood.
    std::optional<Message> next();

    void send(const Message& message);

    /// Sends as much as the other side takes now; false when it is not there any more.
    bool write();
    bool has_output() const { return !output_.empty(); }

    /// Why read() or write() said false.
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

}  // namespace dtrain::link
