// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "ps/server/push.hpp"

namespace dtrain::ps {

/// What trainers have pushed and is not in the parameters yet: half a step of a trainer is never applied, and
/// in sync mode none before all trainers have ended it.
class PushedSteps {
  public:
    using Step = std::vector<Push>;  ///< of one trainer

    explicit PushedSteps(std::size_t trainers) : trainers_(trainers) {}

    void add(std::size_t trainer, Push&& push) { trainers_[trainer].current.push_back(std::move(push)); }
    bool is_within_step(std::size_t trainer) const { return !trainers_[trainer].current.empty(); }

    /// Ends the current step of a trainer, and hands it out.
    Step take_step(std::size_t trainer);

    /// Ends the current step of a trainer, and keeps it for take_common_step().
    void keep_step(std::size_t trainer);

    /// Whether all trainers that have not left have ended a step that is kept.
    bool has_common_step() const;
    /// The oldest kept steps, by trainer; empty for one that has left or ended a step without pushing.
    std::vector<Step> take_common_step();

    /// Nobody waits for this trainer any more. The steps that it has ended are kept.
    /// @returns its current step, which will never end
    Step leave(std::size_t trainer);

  private:
    struct Trainer {
        Step current;
        std::deque<Step> ended;
        bool has_left = false;
    };
    std::vector<Trainer> trainers_;
};

}  // namespace dtrain::ps
