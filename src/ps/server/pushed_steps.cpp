// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/server/pushed_steps.hpp"

#include <algorithm>
#include <utility>

namespace dtrain::ps {

PushedSteps::Step PushedSteps::take_step(std::size_t trainer) {
    return std::exchange(trainers_[trainer].current, {});
}

void PushedSteps::keep_step(std::size_t trainer) {
    trainers_[trainer].ended.push_back(take_step(trainer));
}

bool PushedSteps::has_common_step() const {
    const auto is_ready = [](const Trainer& trainer) { return trainer.has_left || !trainer.ended.empty(); };
    const auto has_ended_one = [](const Trainer& trainer) { return !trainer.ended.empty(); };
    return std::ranges::all_of(trainers_, is_ready) && std::ranges::any_of(trainers_, has_ended_one);
}

std::vector<PushedSteps::Step> PushedSteps::take_common_step() {
    std::vector<Step> steps(trainers_.size());
    for (std::size_t number = 0; number < trainers_.size(); ++number) {
        auto& ended = trainers_[number].ended;
        if (ended.empty()) continue;
        steps[number] = std::move(ended.front());
        ended.pop_front();
    }
    return steps;
}

PushedSteps::Step PushedSteps::leave(std::size_t trainer) {
    trainers_[trainer].has_left = true;
    return take_step(trainer);
}

}  // namespace dtrain::ps
