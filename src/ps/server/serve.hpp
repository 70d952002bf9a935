// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>

#include "ps/server/server.hpp"

namespace dtrain::ps {

/// How a server waits for messages: it spins while messages arrive (only briefly if there are more ranks than
/// processors), and sleeps longer the longer none has arrived, so that an idle server leaves the processor to
/// others.
class IdleSleep {
  public:
    using Duration = std::chrono::nanoseconds;

    /// How long to sleep after this much idle time; zero: do not sleep.
    static Duration after(Duration idle);
};

/// Passes messages to the server until all trainers have left.
/// @param between called ten times a second, between two messages
void serve(Server& server, comm::Transport& transport, const std::function<void()>& between = {});

}  // namespace dtrain::ps
