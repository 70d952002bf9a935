// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "base/files.hpp"
#include "launch/check/check_messages.hpp"
#include "transport/reactor.hpp"

/// Connections between the nodes that dtrain-launch --check inspects.
namespace dtrain::launch {

/// Microseconds since 1970, by this machine's clock.
using WallClock = std::function<std::int64_t()>;
std::int64_t wall_clock_us();

/// Answers connections from other nodes of the same check with the time; closes all others.
class ProbeServer {
  public:
    ProbeServer(transport::Reactor& reactor, std::string nonce, WallClock clock = wall_clock_us);
    int port() const;

  private:
    struct Caller {
        FileDescriptor socket;
        std::string introduction;  ///< the part of the nonce received so far
    };
    void accept();
    void serve(int fd);
    void close(int fd);

    transport::Reactor& reactor_;
    const std::string nonce_;
    const WallClock clock_;
    FileDescriptor listener_;
    std::map<int, Caller> callers_;
};

/// Connects to a node's ProbeServer and compares clocks. Takes at most about 2 * `limit`.
ProbeResult probe(const CheckPeer& peer, const std::string& nonce, std::chrono::milliseconds limit,
                  const WallClock& clock = wall_clock_us);

}  // namespace dtrain::launch
