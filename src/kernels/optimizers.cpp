// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/loops.hpp"
#include "kernels/operators.hpp"

namespace dtrain::kernels {

std::unique_ptr<Kernel> make_increment(const KernelArguments& arguments) {
    return kernel_of([step = arguments.output("step").as<std::int64_t>()] { ++step[0]; });
}

std::unique_ptr<Kernel> make_sgd(const KernelArguments& arguments) {
    return kernel_of([p = arguments.out("parameter"), g = arguments.in("gradient"),
                      rate = static_cast<float>(arguments.number("learning_rate"))] {
        loops::sgd(p.data(), g.data(), p.size(), rate);
    });
}

std::unique_ptr<Kernel> make_momentum(const KernelArguments& arguments) {
    return kernel_of([p = arguments.out("parameter"), v = arguments.out("velocity"),
                      g = arguments.in("gradient"),
                      rate = static_cast<float>(arguments.number("learning_rate")),
                      mu = static_cast<float>(arguments.number("mu"))] {
        loops::momentum(p.data(), v.data(), g.data(), p.size(), rate, mu);
    });
}

std::unique_ptr<Kernel> make_adam(const KernelArguments& arguments) {
    return kernel_of([p = arguments.out("parameter"), m = arguments.out("moment1"),
                      v = arguments.out("moment2"), g = arguments.in("gradient"),
                      step = arguments.input("step").as<std::int64_t>(),
                      rate = arguments.number("learning_rate"), beta1 = arguments.number("beta1"),
                      beta2 = arguments.number("beta2"), epsilon = arguments.number("epsilon")] {
        const auto t = static_cast<double>(step[0]);
        const double correction = std::sqrt(1.0 - std::pow(beta2, t));
        loops::adam(p.data(), m.data(), v.data(), g.data(), p.size(),
                    {.rate = static_cast<float>(rate * correction / (1.0 - std::pow(beta1, t))),
                     .beta1 = static_cast<float>(beta1),
                     .one_minus_beta1 = static_cast<float>(1.0 - beta1),
                     .beta2 = static_cast<float>(beta2),
                     .one_minus_beta2 = static_cast<float>(1.0 - beta2),
                     .epsilon = static_cast<float>(epsilon * correction)});
    });
}

}  // namespace dtrain::kernels
