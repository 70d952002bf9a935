// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>

#include "ps/server/server.hpp"

namespace dtrain::ps {

/// How a server waits for messages: it spins while they come, in a crowd lets others go on soon, and the
/// longer none has come, the longer it sleeps, so that an idle server leaves the processor to others.
class IdleSleep {
  public:
    using Duration = std::chrono::nanoseconds;

    /// How long to sleep when the last message came so long ago; zero: not at all.
    static Duration after(Duration idle);
};

/// Hands the server its messages until all trainers have left.
/// @param between called ten times a second, between two messages
void serve(Server& server, comm::Transport& transport, const std::function<void()>& between = {});

}  // namespace dtrain::ps
