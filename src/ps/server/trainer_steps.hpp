// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <dtrain/server_mode.hpp>

#include "ps/wire/message.hpp"

namespace dtrain::ps {

/// Which steps the trainers of a server have ended and which are in the parameters; and, by the mode, when a
/// request that asks for steps can be answered.
class TrainerSteps {
  public:
    /// @param staleness see ServerOptions
    /// @param first_step number of steps already in the parameters
    TrainerSteps(ServerMode mode, std::int64_t staleness, std::size_t trainers, std::int64_t first_step);

    /// Number of updates in the parameters: in sync mode common steps of all trainers, else pushes.
    std::int64_t updates() const { return updates_; }
    void note_update() { ++updates_; }

    void end(std::size_t trainer, std::uint32_t steps) { trainers_[trainer].ended += steps; }
    /// Nobody waits for this trainer any more.
    void leave(std::size_t trainer) { trainers_[trainer].has_left = true; }

    bool is_due(const MessageHeader& asked) const;

    /// The trainers that have ended fewer steps than another one.
    std::vector<int> late_trainers() const;

  private:
    struct Trainer {
        std::int64_t ended = 0;
        bool has_left = false;
    };

    ServerMode mode_;
    std::int64_t staleness_;
    std::int64_t updates_;
    std::vector<Trainer> trainers_;
};

}  // namespace dtrain::ps
