// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/table/row_update.hpp"

#include <type_traits>

namespace dtrain::ps {

RowUpdate::RowUpdate(const Optimizer& optimizer, double rate, std::int64_t step) {
    kernels::with_rule(optimizer, [&]<class Rule>(std::type_identity<Rule>, const auto& settings) {
        if (!Rule::is_idle(rate))
            update_.emplace(Rule::template update<float>(kernels::values_of<Rule>(settings), rate, step));
    });
}

std::size_t states_of(const Optimizer& optimizer) {
    std::size_t states = 0;
    kernels::with_rule(optimizer, [&]<class Rule>(std::type_identity<Rule>, const auto& /*settings*/) {
        states = Rule::state.size();
    });
    return states;
}

float initial_state(const Optimizer& optimizer) {
    double initial = 0;
    kernels::with_rule(optimizer, [&]<class Rule>(std::type_identity<Rule>, const auto& settings) {
        initial = kernels::initial_state<Rule>(settings);
    });
    return static_cast<float>(initial);
}

}  // namespace dtrain::ps
