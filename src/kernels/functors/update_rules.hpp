// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <variant>

#include <dtrain/optimizer.hpp>

#include "kernels/functors/named_types.hpp"
#include "kernels/functors/on_device.hpp"
#include "kernels/functors/update_rule.hpp"

/// The optimizers: one struct for each has its name, settings and state, and how it updates an element on
/// CPUs and GPUs. A new one is a struct here, its settings in <dtrain/optimizer.hpp>, and both in the list at
/// the end: its schema, kernels, checks, keys of job files and of stored tables follow from that.
namespace dtrain::kernels {

struct SgdRule : UpdateRule {
    using Settings = Sgd;
    static constexpr std::string_view type = "sgd";
    static constexpr std::array<Setting<Sgd>, 0> settings{};
    static constexpr std::array<std::string_view, 0> state{};

    template <class Real>
    struct Update {
        Real rate;
        PER_ELEMENT void operator()(Real& p, Real g) const { p -= rate * g; }
    };

    template <class Real>
    ON_DEVICE static Update<Real> update(const SettingValues<SgdRule>& /*values*/, double rate,
                                         std::int64_t /*step*/) {
        return {static_cast<Real>(rate)};
    }
};

struct MomentumRule : UpdateRule {
    using Settings = Momentum;
    static constexpr std::string_view type = "momentum";
    static constexpr std::array settings{
        Setting<Momentum>{
            .name = "mu", .number = &Momentum::mu, .limits = Limits::fraction, .other_key = "momentum"},
        Setting<Momentum>{.name = "nesterov", .truth = &Momentum::nesterov}};
    static constexpr std::array<std::string_view, 1> state{"velocity"};

    template <class Real>
    struct Update {
        Real rate;
        Real mu;
        bool is_nesterov;
        PER_ELEMENT void operator()(Real& p, Real& v, Real g) const {
            v = mu * v + g;
            p -= rate * (is_nesterov ? g + mu * v : v);
        }
    };

    template <class Real>
    ON_DEVICE static Update<Real> update(const SettingValues<MomentumRule>& values, double rate,
                                         std::int64_t /*step*/) {
        const auto [mu, nesterov] = values;
        return {static_cast<Real>(rate), static_cast<Real>(mu), nesterov != 0};
    }
};

struct AdagradRule : UpdateRule {
    using Settings = Adagrad;
    static constexpr std::string_view type = "adagrad";
    static constexpr std::array settings{
        Setting<Adagrad>{.name = "epsilon", .number = &Adagrad::epsilon, .is_positive_in_jobs = true}};
    static constexpr std::array<std::string_view, 1> state{"squares"};
    static constexpr Setting<Adagrad> initial{.name = "initial", .number = &Adagrad::initial};

    template <class Real>
    struct Update {
        Real rate;
        Real epsilon;
        PER_ELEMENT void operator()(Real& p, Real& s, Real g) const {
            s += g * g;
            p -= rate * g / (std::sqrt(s) + epsilon);
        }
    };

    template <class Real>
    ON_DEVICE static Update<Real> update(const SettingValues<AdagradRule>& values, double rate,
                                         std::int64_t /*step*/) {
        const auto [epsilon] = values;
        return {static_cast<Real>(rate), static_cast<Real>(epsilon)};
    }
};

/// Both forms of Adam.
template <class Adam>
struct AdamSettings {
    static constexpr Setting<Adam> beta1{.name = "beta1", .number = &Adam::beta1, .limits = Limits::fraction};
    static constexpr Setting<Adam> beta2{.name = "beta2", .number = &Adam::beta2, .limits = Limits::fraction};
    static constexpr Setting<Adam> epsilon{
        .name = "epsilon", .number = &Adam::epsilon, .is_positive_in_jobs = true};
};

struct AdamRule : UpdateRule {
    using Settings = Adam;
    static constexpr std::string_view type = "adam";
    static constexpr std::array settings{AdamSettings<Adam>::beta1, AdamSettings<Adam>::beta2,
                                         AdamSettings<Adam>::epsilon};
    static constexpr std::array<std::string_view, 2> state{"moment1", "moment2"};
    static constexpr std::string_view counter = "adam.step";

    template <class Real>
    struct Update {
        Real rate;
        Real beta1;
        Real one_minus_beta1;
        Real beta2;
        Real one_minus_beta2;
        Real epsilon;
        PER_ELEMENT void operator()(Real& p, Real& m, Real& v, Real g) const { p -= step(m, v, g); }

        PER_ELEMENT Real step(Real& m, Real& v, Real g) const {
            m = beta1 * m + one_minus_beta1 * g;
            v = beta2 * v + one_minus_beta2 * g * g;
            return rate * m / (std::sqrt(v) + epsilon);
        }
    };

    template <class Real>
    ON_DEVICE static Update<Real> update(const SettingValues<AdamRule>& values, double rate,
                                         std::int64_t step) {
        const auto [beta1, beta2, epsilon] = values;
        const auto t = static_cast<double>(step);
        const double correction = std::sqrt(1.0 - std::pow(beta2, t));
        return {static_cast<Real>(rate * correction / (1.0 - std::pow(beta1, t))),
                static_cast<Real>(beta1),
                static_cast<Real>(1.0 - beta1),
                static_cast<Real>(beta2),
                static_cast<Real>(1.0 - beta2),
                static_cast<Real>(epsilon * correction)};
    }
};

struct AdamWRule : UpdateRule {
    using Settings = AdamW;
    static constexpr std::string_view type = "adamw";
    static constexpr std::array settings{
        AdamSettings<AdamW>::beta1, AdamSettings<AdamW>::beta2, AdamSettings<AdamW>::epsilon,
        Setting<AdamW>{.name = "weight_decay", .number = &AdamW::weight_decay}};
    static constexpr auto state = AdamRule::state;
    static constexpr auto counter = AdamRule::counter;

    /// Names of parameters that another optimizer updates, and which.
    static constexpr std::string_view exceptions_name = "without_decay";
    static constexpr auto exceptions = &AdamW::without_decay;
    static Adam of_exceptions(const AdamW& adamw) {
        return {adamw.learning_rate, adamw.beta1, adamw.beta2, adamw.epsilon};
    }

    template <class Real>
    struct Update {
        AdamRule::Update<Real> adam;
        Real kept;  ///< weights that decay are first scaled by it
        PER_ELEMENT void operator()(Real& p, Real& m, Real& v, Real g) const {
            p = kept * p - adam.step(m, v, g);
        }
    };

    template <class Real>
    ON_DEVICE static Update<Real> update(const SettingValues<AdamWRule>& values, double rate,
                                         std::int64_t step) {
        const auto [beta1, beta2, epsilon, weight_decay] = values;
        return {AdamRule::update<Real>({beta1, beta2, epsilon}, rate, step),
                static_cast<Real>(1.0 - rate * weight_decay)};
    }
};

struct FtrlRule : UpdateRule {
    using Settings = Ftrl;
    static constexpr std::string_view type = "ftrl";
    static constexpr std::array settings{
        Setting<Ftrl>{.name = "beta", .number = &Ftrl::beta, .limits = Limits::positive},
        Setting<Ftrl>{.name = "l1", .number = &Ftrl::l1}, Setting<Ftrl>{.name = "l2", .number = &Ftrl::l2}};
    static constexpr std::array<std::string_view, 2> state{"linear", "squares"};
    static constexpr Limits limits_of_rate = Limits::positive;
    static constexpr std::string_view refuses_averages =
        "FTRL makes parameters of its sums alone, which stay each rank's own";

    /// There is no 1 / rate.
    ON_DEVICE static constexpr bool is_idle(double rate) { return rate <= 0; }

    /// z and s are the sums z and n of McMahan et al., KDD 2013, algorithm 1.
    template <class Real>
    struct Update {
        Real inverse_rate;
        Real beta;
        Real l1;
        Real l2;
        PER_ELEMENT void operator()(Real& p, Real& z, Real& s, Real g) const {
            const Real before = std::sqrt(s);
            s += g * g;
            const Real after = std::sqrt(s);
            z += g - (after - before) * inverse_rate * p;
            const Real beyond = std::fabs(z) - l1;
            const Real far = beyond > 0 ? beyond : Real(0);
            p = -std::copysign(far, z) / ((beta + after) * inverse_rate + l2);
        }
    };

    template <class Real>
    ON_DEVICE static Update<Real> update(const SettingValues<FtrlRule>& values, double rate,
                                         std::int64_t /*step*/) {
        const auto [beta, l1, l2] = values;
        return {static_cast<Real>(1.0 / rate), static_cast<Real>(beta), static_cast<Real>(l1),
                static_cast<Real>(l2)};
    }
};

template <class... Rules>
struct RuleList : NamedTypes<Rules...> {
    using Optimizers = std::variant<typename Rules::Settings...>;
    template <class Real>
    using Updates = std::variant<typename Rules::template Update<Real>...>;
};

/// All of them, in the order of Optimizer.
using UpdateRules = RuleList<SgdRule, MomentumRule, AdamRule, AdagradRule, AdamWRule, FtrlRule>;
static_assert(std::is_same_v<UpdateRules::Optimizers, Optimizer>);

}  // namespace dtrain::kernels
