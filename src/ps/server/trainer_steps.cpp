// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/server/trainer_steps.hpp"

#include <algorithm>

namespace dtrain::ps {

TrainerSteps::TrainerSteps(ServerMode mode, std::int64_t staleness, std::size_t trainers,
                           std::int64_t first_step)
    : mode_(mode),
      staleness_(staleness),
      updates_(first_step),
      trainers_(trainers, Trainer{.ended = mode == ServerMode::sync ? first_step : 0}) {}

bool TrainerSteps::is_due(const MessageHeader& asked) const {
    switch (mode_) {
        case ServerMode::sync:
            return updates_ >= asked.step;
        case ServerMode::async:
        case ServerMode::geo:
            return true;
        case ServerMode::half_async:
            if (asked.kind == MessageKind::save) return true;
            break;
    }
    // asked.step is unchecked input; the subtraction below must not overflow.
    if (asked.step <= 0) return true;
    return std::ranges::all_of(trainers_, [&](const Trainer& other) {
        return other.has_left || other.ended >= asked.step - staleness_;
    });
}

std::vector<int> TrainerSteps::late_trainers() const {
    std::int64_t max = 0;
    for (const auto& trainer : trainers_) max = std::max(max, trainer.ended);
    std::vector<int> late;
    for (std::size_t number = 0; number < trainers_.size(); ++number)
        if (!trainers_[number].has_left && trainers_[number].ended < max)
            late.push_back(static_cast<int>(number));
    return late;
}

}  // namespace dtrain::ps
