// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "train/loop.hpp"

#include <cmath>

#include <fmt/format.h>

#include <dtrain/error.hpp>

namespace dtrain::train {

bool Loop::run_epoch(Feeder& feeder, const LoopHooks& hooks) {
    feeder.start(position_.epoch, position_.epoch_step);
    bool goes_on = true;
    while (goes_on && position_.epoch_step < feeder.steps()) {
        if (auto* executor = hooks.executor(position_.epoch_step)) run_step(*executor, feeder, hooks);
        ++position_.epoch_step;
        ++position_.step;
        if (phases_.is_full()) hooks.settle();
        if (hooks.goes_on) goes_on = hooks.goes_on(position_.epoch_step);
    }
    hooks.settle();
    return position_.epoch_step == feeder.steps();
}

void Loop::run_step(Executor& executor, Feeder& feeder, const LoopHooks& hooks) {
    phases_.begin_step(executor.exchange_time());
    for (int part = 0; part < parts_.own; ++part) {
        phases_.feed([&] { feeder.feed(); });
        if (hooks.fed) hooks.fed();
        if (parts_.are_virtual)
            executor.accumulate();
        else
            executor.run();
        if (hooks.computed) hooks.computed(executor);
    }
    if (parts_.are_virtual) executor.update();
    phases_.end_step(executor.exchange_time());
}

void Loop::end_epoch() {
    ++position_.epoch;
    position_.epoch_step = 0;
}

void check_loss(double loss, std::int64_t epoch, const Communicator& communicator) {
    if (!std::isfinite(loss))
        throw_together<Error>(
            communicator,
            fmt::format("the loss is {} in epoch {}; a smaller learning_rate may help", loss, epoch));
}

void check_parameters(const State& state, std::int64_t epoch, const Communicator& communicator) {
    if (!parameters_are_identical(state, communicator))
        throw_together<Error>(
            communicator,
            fmt::format("the parameters of the ranks differ after epoch {}: a rank computes wrongly", epoch));
}

}  // namespace dtrain::train
