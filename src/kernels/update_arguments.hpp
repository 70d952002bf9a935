// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "kernels/functors/update_rules.hpp"
#include "kernels/kernel.hpp"

/// What an update's kernels, on CPUs and GPUs, read from the operator's arguments.
namespace dtrain::kernels {

template <class Rule>
SettingValues<Rule> values_of(const KernelArguments& arguments) {
    SettingValues<Rule> values{};
    std::ranges::transform(Rule::settings, values.begin(), [&](const auto& setting) {
        return setting.truth != nullptr ? static_cast<double>(arguments.whole(setting.name) != 0)
                                        : arguments.number(setting.name);
    });
    return values;
}

template <class Rule, class Real>
std::array<Real*, Rule::state.size()> state_of(const KernelArguments& arguments) {
    std::array<Real*, Rule::state.size()> state{};
    std::ranges::transform(Rule::state, state.begin(),
                           [&](std::string_view slot) { return arguments.out<Real>(slot).data(); });
    return state;
}

/// The counter of steps; null if the rule depends on none.
template <class Rule>
const std::int64_t* step_of(const KernelArguments& arguments) {
    return Rule::counter.empty() ? nullptr : arguments.in<std::int64_t>("step").data();
}

}  // namespace dtrain::kernels
