// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "kernels/functors/on_device.hpp"

/// What the rules of update_rules.hpp are made of.
namespace dtrain::kernels {

/// The maximum number of state variables of a rule.
inline constexpr std::size_t max_state = 2;

/// What values a setting may have.
enum class Limits {
    not_negative,  ///< from 0
    positive,      ///< above 0
    fraction,      ///< from 0 to below 1
};

/// A setting of an optimizer, which is an attribute of its operator.
template <class Optimizer>
struct Setting {
    std::string_view name;
    double Optimizer::*number = nullptr;
    Limits limits = Limits::not_negative;
    bool Optimizer::*truth = nullptr;  ///< instead of a number
    std::string_view other_key = {};   ///< its name in job files, if that is another one
    bool is_positive_in_jobs = false;

    constexpr std::string_view key() const { return other_key.empty() ? name : other_key; }
    constexpr Limits limits_of_key() const { return is_positive_in_jobs ? Limits::positive : limits; }
};

/// The values of a rule's settings in its order, truths as 0 or 1.
template <class Rule>
using SettingValues = std::array<double, Rule::settings.size()>;

/// What holds for a rule that does not say otherwise.
struct UpdateRule {
    static constexpr Limits limits_of_rate = Limits::not_negative;

    /// The variable that counts steps, which the rule depends on; "": it does not.
    static constexpr std::string_view counter = {};

    /// Why ranks cannot average parameters that it has updated; "": they can.
    static constexpr std::string_view refuses_averages = {};

    /// Whether nothing is updated at this learning rate, the first one of a warm-up.
    ON_DEVICE static constexpr bool is_idle(double /*rate*/) { return false; }
};

}  // namespace dtrain::kernels
