// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include <dtrain/optimizer.hpp>

#include "kernels/functors/update_rules.hpp"

/// What is known of an optimizer, from its rule.
namespace dtrain::kernels {

/// Calls visit(setting) for all settings of a rule, also for those that are no attributes; learning_rate,
/// which all rules have, and exceptions are left out.
template <class Rule, class Visit>
void for_each_setting(const Visit& visit) {
    for (const auto& setting : Rule::settings) visit(setting);
    if constexpr (requires { Rule::initial; }) visit(Rule::initial);
}

/// Calls visit(std::type_identity<Rule>(), settings) with an optimizer's rule.
template <class Visit>
void with_rule(const Optimizer& optimizer, const Visit& visit) {
    UpdateRules::for_each([&]<class Rule>(std::type_identity<Rule> rule) {
        if (const auto* settings = std::get_if<typename Rule::Settings>(&optimizer)) visit(rule, *settings);
    });
}

/// The names of parameters that another optimizer updates; null if it has no such setting.
inline std::vector<std::string>* exceptions_of(Optimizer& optimizer) {
    std::vector<std::string>* exceptions = nullptr;
    with_rule(optimizer, [&]<class Rule>(std::type_identity<Rule>, const auto& /*settings*/) {
        if constexpr (requires { Rule::exceptions; })
            exceptions = &(std::get<typename Rule::Settings>(optimizer).*Rule::exceptions);
    });
    return exceptions;
}

/// The optimizer that updates this parameter.
inline Optimizer optimizer_for(const Optimizer& optimizer, std::string_view parameter) {
    auto own = optimizer;
    with_rule(optimizer, [&]<class Rule>(std::type_identity<Rule>, const auto& settings) {
        if constexpr (requires { Rule::exceptions; }) {
            const auto& exceptions = settings.*Rule::exceptions;
            if (std::ranges::find(exceptions, parameter) != exceptions.end())
                own = Rule::of_exceptions(settings);
        }
    });
    return own;
}

/// "adam", "momentum", ...
inline std::string name_of(const Optimizer& optimizer) {
    return std::string(UpdateRules::types[optimizer.index()]);
}

inline double learning_rate_of(const Optimizer& optimizer) {
    return std::visit([](const auto& settings) { return settings.learning_rate; }, optimizer);
}

/// Initial value of the state.
template <class Rule>
double initial_state(const typename Rule::Settings& settings) {
    if constexpr (requires { Rule::initial; }) return settings.*Rule::initial.number;
    return 0;
}

template <class Rule>
SettingValues<Rule> values_of(const typename Rule::Settings& settings) {
    SettingValues<Rule> values{};
    std::ranges::transform(Rule::settings, values.begin(), [&](const auto& setting) {
        return setting.truth != nullptr ? static_cast<double>(settings.*setting.truth)
                                        : settings.*setting.number;
    });
    return values;
}

}  // namespace dtrain::kernels
