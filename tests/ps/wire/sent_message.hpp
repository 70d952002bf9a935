// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "comm/message/transport.hpp"
#include "ps/wire/message.hpp"

namespace dtrain::ps {

/// A message that a test writes, and receives as rank 1 from rank 0.
class SentMessage {
  public:
    explicit SentMessage(MessageKind kind, std::uint32_t steps = 0)
        : transports_(comm::local_transports(2)), writer_(*transports_[0], {.kind = kind, .steps = steps}) {}

    MessageWriter& writer() { return writer_; }

    /// Call once.
    comm::Message message() {
        writer_.send(1);
        return std::move(*transports_[1]->receive());
    }

  private:
    std::vector<std::unique_ptr<comm::Transport>> transports_;
    MessageWriter writer_;
};

}  // namespace dtrain::ps
