// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ps/client/server_channel.hpp"
#include "ps/client/step_clock.hpp"
#include "ps/wire/message.hpp"

namespace dtrain::ps {

/// The messages with gradients of a step, of which one to each server is open: more may be added to it.
class PushMessages {
  public:
    /// @param channel must outlive this, as must `clock`
    PushMessages(ServerChannel& channel, StepClock& clock)
        : channel_(&channel), clock_(&clock), open_(static_cast<std::size_t>(channel.servers())) {}

    /// The open message to a server. @param likely_bytes expected size of a new one
    MessageWriter& open(int server, std::size_t likely_bytes = 0);

    /// Bytes of the open message; 0: none is open.
    std::size_t size(int server) const;

    /// Removes the open message, so that the next one can be opened before this one is complete.
    MessageWriter take(int server);
    /// Makes a message the open one again; sends the one that is open.
    void put_back(int server, MessageWriter message);

    /// Sends the open message. The step continues.
    void send(int server) { send_with(server, 0); }

    /// Ends this many steps on all servers, with the open message or one without gradients.
    void send_ends(std::uint32_t steps);

  private:
    void send_with(int server, std::uint32_t steps);

    ServerChannel* channel_;
    StepClock* clock_;
    std::vector<std::optional<MessageWriter>> open_;  ///< by server
};

}  // namespace dtrain::ps
