// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include "comm/message/transport.hpp"

namespace dtrain::comm {

/// If messages of several ranks wait, one is chosen, possibly the one that arrived first: a rank with many
/// messages would then delay the others. So after every eighth message one rank is polled explicitly, in
/// turn.
class TransportInTurn : public Transport {
  public:
    std::optional<Message> receive() final;

  private:
    /// The first message from this rank that has arrived. @param sender none: any rank
    virtual std::optional<Message> receive_from(std::optional<int> sender) = 0;

    std::optional<Message> next_in_turn();

    int messages_ = 0;  ///< consecutive messages since the last turn
    int turn_ = 0;
};

/// @throws MessageTooLong
void check_length(const MessageBytes& content, std::size_t max);

}  // namespace dtrain::comm
