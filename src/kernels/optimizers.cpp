// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/loops.hpp"
#include "kernels/operators.hpp"

namespace dtrain::kernels {
namespace {

std::unique_ptr<Kernel> make_increment(const KernelArguments& arguments) {
    return kernel_of([step = arguments.output("step").as<std::int64_t>()] { ++step[0]; });
}

template <class Real>
std::unique_ptr<Kernel> make_sgd(const KernelArguments& arguments) {
    return kernel_of([p = arguments.out<Real>("parameter"), g = arguments.in<Real>("gradient"),
                      rate = static_cast<Real>(arguments.number("learning_rate"))] {
        loops::sgd(p.data(), g.data(), p.size(), rate);
    });
}

template <class Real>
std::unique_ptr<Kernel> make_momentum(const KernelArguments& arguments) {
    return kernel_of([p = arguments.out<Real>("parameter"), v = arguments.out<Real>("velocity"),
                      g = arguments.in<Real>("gradient"),
                      rate = static_cast<Real>(arguments.number("learning_rate")),
                      mu = static_cast<Real>(arguments.number("mu"))] {
        loops::momentum(p.data(), v.data(), g.data(), p.size(), rate, mu);
    });
}

template <class Real>
std::unique_ptr<Kernel> make_adam(const KernelArguments& arguments) {
    return kernel_of([p = arguments.out<Real>("parameter"), m = arguments.out<Real>("moment1"),
                      v = arguments.out<Real>("moment2"), g = arguments.in<Real>("gradient"),
                      step = arguments.input("step").as<std::int64_t>(),
                      rate = arguments.number("learning_rate"), beta1 = arguments.number("beta1"),
                      beta2 = arguments.number("beta2"), epsilon = arguments.number("epsilon")] {
        const auto t = static_cast<double>(step[0]);
        const double correction = std::sqrt(1.0 - std::pow(beta2, t));
        loops::adam(p.data(), m.data(), v.data(), g.data(), p.size(),
                    {.rate = static_cast<Real>(rate * correction / (1.0 - std::pow(beta1, t))),
                     .beta1 = static_cast<Real>(beta1),
                     .one_minus_beta1 = static_cast<Real>(1.0 - beta1),
                     .beta2 = static_cast<Real>(beta2),
                     .one_minus_beta2 = static_cast<Real>(1.0 - beta2),
                     .epsilon = static_cast<Real>(epsilon * correction)});
    });
}

}  // namespace

Entries optimizer_kernels() {
    return {
        {"adam", by_type<make_adam<float>, make_adam<double>>},
        {"increment", make_increment},
        {"momentum", by_type<make_momentum<float>, make_momentum<double>>},
        {"sgd", by_type<make_sgd<float>, make_sgd<double>>},
    };
}

}  // namespace dtrain::kernels
