// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/loops.hpp"
#include "kernels/operators.hpp"
#include "kernels/rate.hpp"
#include "kernels/updated_rows.hpp"

namespace dtrain::kernels {
namespace {

std::unique_ptr<Kernel> make_increment(const KernelArguments& arguments) {
    return kernel_of([step = arguments.output("step").as<std::int64_t>()] { ++step[0]; });
}

template <class Real>
std::unique_ptr<Kernel> make_sgd(const KernelArguments& arguments) {
    return kernel_of([rows = UpdatedRows(arguments), p = arguments.out<Real>("parameter").data(),
                      g = arguments.in<Real>("gradient").data(), rate = Rate(arguments)] {
        rows.for_each([&, r = static_cast<Real>(rate())](std::size_t at, std::size_t from, std::size_t n) {
            loops::sgd(p + at, g + from, n, r);
        });
    });
}

template <class Real>
std::unique_ptr<Kernel> make_momentum(const KernelArguments& arguments) {
    return kernel_of([rows = UpdatedRows(arguments), p = arguments.out<Real>("parameter").data(),
                      v = arguments.out<Real>("velocity").data(), g = arguments.in<Real>("gradient").data(),
                      rate = Rate(arguments), mu = static_cast<Real>(arguments.number("mu")),
                      is_nesterov = arguments.whole("nesterov") != 0] {
        rows.for_each([&, r = static_cast<Real>(rate())](std::size_t at, std::size_t from, std::size_t n) {
            if (is_nesterov)
                loops::nesterov(p + at, v + at, g + from, n, r, mu);
            else
                loops::momentum(p + at, v + at, g + from, n, r, mu);
        });
    });
}

template <class Real>
std::unique_ptr<Kernel> make_adagrad(const KernelArguments& arguments) {
    return kernel_of([rows = UpdatedRows(arguments), p = arguments.out<Real>("parameter").data(),
                      s = arguments.out<Real>("squares").data(), g = arguments.in<Real>("gradient").data(),
                      rate = Rate(arguments), epsilon = static_cast<Real>(arguments.number("epsilon"))] {
        rows.for_each([&, r = static_cast<Real>(rate())](std::size_t at, std::size_t from, std::size_t n) {
            loops::adagrad(p + at, s + at, g + from, n, r, epsilon);
        });
    });
}

struct AdamSettings {
    double beta1;
    double beta2;
    double epsilon;
};

// Both forms of Adam: weights that decay are first scaled by 1 - rate weight_decay.
template <class Real, bool decays>
std::unique_ptr<Kernel> make_adam(const KernelArguments& arguments) {
    return kernel_of([rows = UpdatedRows(arguments), p = arguments.out<Real>("parameter").data(),
                      m = arguments.out<Real>("moment1").data(), v = arguments.out<Real>("moment2").data(),
                      g = arguments.in<Real>("gradient").data(),
                      step = arguments.input("step").as<std::int64_t>(), rate = Rate(arguments),
                      settings = AdamSettings{arguments.number("beta1"), arguments.number("beta2"),
                                              arguments.number("epsilon")},
                      decay = decays ? arguments.number("weight_decay") : 0.0] {
        const auto factors = loops::adam_factors<Real>(settings, rate(), step[0]);
        rows.for_each([&, kept = static_cast<Real>(1.0 - rate() * decay)](std::size_t at, std::size_t from,
                                                                          std::size_t n) {
            if constexpr (decays)
                loops::adamw(p + at, m + at, v + at, g + from, n, factors, kept);
            else
                loops::adam(p + at, m + at, v + at, g + from, n, factors);
        });
    });
}

template <class Real>
std::unique_ptr<Kernel> make_ftrl(const KernelArguments& arguments) {
    return kernel_of([rows = UpdatedRows(arguments), p = arguments.out<Real>("parameter").data(),
                      z = arguments.out<Real>("linear").data(), s = arguments.out<Real>("squares").data(),
                      g = arguments.in<Real>("gradient").data(), rate = Rate(arguments),
                      beta = static_cast<Real>(arguments.number("beta")),
                      l1 = static_cast<Real>(arguments.number("l1")),
                      l2 = static_cast<Real>(arguments.number("l2"))] {
        if (rate() <= 0) return;  // the first step of a warm-up; there is no 1 / rate
        const loops::FtrlFactors<Real> factors{static_cast<Real>(1.0 / rate()), beta, l1, l2};
        rows.for_each([&](std::size_t at, std::size_t from, std::size_t n) {
            loops::ftrl(p + at, z + at, s + at, g + from, n, factors);
        });
    });
}

// Does nothing in a step that its input "skip" excludes.
template <Factory make>
std::unique_ptr<Kernel> unless_skipped(const KernelArguments& arguments) {
    if (!arguments.has_input("skip")) return make(arguments);
    return kernel_of([kernel = make(arguments), skip = arguments.in<std::int64_t>("skip").data()] {
        if (*skip == 0) kernel->run();
    });
}

template <Factory of_float, Factory of_double>
constexpr Factory update = unless_skipped<by_type<of_float, of_double>>;

}  // namespace

Entries optimizer_kernels() {
    return {
        {"adagrad", update<make_adagrad<float>, make_adagrad<double>>},
        {"adam", update<make_adam<float, false>, make_adam<double, false>>},
        {"adamw", update<make_adam<float, true>, make_adam<double, true>>},
        {"ftrl", update<make_ftrl<float>, make_ftrl<double>>},
        {"increment", unless_skipped<make_increment>},
        {"momentum", update<make_momentum<float>, make_momentum<double>>},
        {"sgd", update<make_sgd<float>, make_sgd<double>>},
    };
}

}  // namespace dtrain::kernels
