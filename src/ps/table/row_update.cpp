// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/table/row_update.hpp"

namespace dtrain::ps {
namespace {

struct When {
    double rate;
    std::int64_t step;
};

RowUpdate update_of(const Sgd& /*sgd*/, const When& when) {
    return SgdUpdate{static_cast<float>(when.rate)};
}

RowUpdate update_of(const Momentum& momentum, const When& when) {
    const auto rate = static_cast<float>(when.rate);
    const auto mu = static_cast<float>(momentum.mu);
    if (momentum.nesterov) return NesterovUpdate{rate, mu};
    return MomentumUpdate{rate, mu};
}

RowUpdate update_of(const Adagrad& adagrad, const When& when) {
    return AdagradUpdate{static_cast<float>(when.rate), static_cast<float>(adagrad.epsilon)};
}

RowUpdate update_of(const Adam& adam, const When& when) {
    return AdamUpdate{loops::adam_factors<float>(adam, when.rate, when.step)};
}

RowUpdate update_of(const AdamW& adam, const When& when) {
    return AdamWUpdate{loops::adam_factors<float>(adam, when.rate, when.step),
                       static_cast<float>(1.0 - when.rate * adam.weight_decay)};
}

RowUpdate update_of(const Ftrl& ftrl, const When& when) {
    if (when.rate <= 0) return NoUpdate{};
    return FtrlUpdate{{static_cast<float>(1.0 / when.rate), static_cast<float>(ftrl.beta),
                       static_cast<float>(ftrl.l1), static_cast<float>(ftrl.l2)}};
}

}  // namespace

RowUpdate row_update(const Optimizer& optimizer, double rate, std::int64_t step) {
    return std::visit([&](const auto& settings) { return update_of(settings, {rate, step}); }, optimizer);
}

std::size_t states_of(const Optimizer& optimizer) {
    constexpr double any_rate = 1;
    return std::visit([](const auto& update) { return update.states; }, row_update(optimizer, any_rate, 1));
}

float initial_state(const Optimizer& optimizer) {
    const auto* adagrad = std::get_if<Adagrad>(&optimizer);
    return adagrad == nullptr ? 0.0F : static_cast<float>(adagrad->initial);
}

double learning_rate_of(const Optimizer& optimizer) {
    return std::visit([](const auto& settings) { return settings.learning_rate; }, optimizer);
}

}  // namespace dtrain::ps
