// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/operators.hpp"

namespace dtrain::kernels {
namespace {

// A kernel that sets its output to function(completed steps).
template <class Function>
std::unique_ptr<Kernel> rate_of(const KernelArguments& arguments, Function function) {
    return kernel_of([step = arguments.in<std::int64_t>("step"), out = arguments.out("out"),
                      function = std::move(function)] { out[0] = static_cast<float>(function(step[0])); });
}

std::unique_ptr<Kernel> make_constant_rate(const KernelArguments& arguments) {
    return rate_of(arguments,
                   [rate = arguments.number("learning_rate")](std::int64_t /*step*/) { return rate; });
}

// A learning rate times factor(decay rate, elapsed periods).
template <double (*factor)(double decay_rate, double periods)>
std::unique_ptr<Kernel> make_rate_decay(const KernelArguments& arguments) {
    return rate_of(arguments,
                   [rate = arguments.number("learning_rate"), decay_rate = arguments.number("decay_rate"),
                    decay_steps = arguments.number("decay_steps"),
                    staircase = arguments.whole("staircase") != 0](std::int64_t step) {
                       const double periods = static_cast<double>(step) / decay_steps;
                       return rate * factor(decay_rate, staircase ? std::floor(periods) : periods);
                   });
}

double exponential(double decay_rate, double periods) {
    return std::pow(decay_rate, periods);
}

double natural_exponential(double decay_rate, double periods) {
    return std::exp(-decay_rate * periods);
}

double inverse_time(double decay_rate, double periods) {
    return 1.0 / (1.0 + decay_rate * periods);
}

std::unique_ptr<Kernel> make_polynomial_decay(const KernelArguments& arguments) {
    return rate_of(arguments,
                   [rate = arguments.number("learning_rate"), steps = arguments.number("decay_steps"),
                    end = arguments.number("end"), power = arguments.number("power"),
                    cycle = arguments.whole("cycle") != 0](std::int64_t step) {
                       const auto t = static_cast<double>(step);
                       const double length = cycle ? steps * std::max(1.0, std::ceil(t / steps)) : steps;
                       return (rate - end) * std::pow(1.0 - std::min(t, length) / length, power) + end;
                   });
}

std::unique_ptr<Kernel> make_piecewise_rate(const KernelArguments& arguments) {
    return rate_of(arguments, [boundaries = arguments.wholes("boundaries"),
                               values = arguments.numbers("values")](std::int64_t step) {
        const auto piece = std::ranges::upper_bound(boundaries, step) - boundaries.begin();
        return values[static_cast<std::size_t>(piece)];
    });
}

std::unique_ptr<Kernel> make_cosine_decay(const KernelArguments& arguments) {
    return rate_of(arguments, [rate = arguments.number("learning_rate"),
                               steps_per_epoch = arguments.whole("steps_per_epoch"),
                               epochs = static_cast<double>(arguments.whole("epochs"))](std::int64_t step) {
        const std::int64_t epoch = step / steps_per_epoch;
        return rate * (std::cos(std::numbers::pi * static_cast<double>(epoch) / epochs) + 1.0) / 2.0;
    });
}

std::unique_ptr<Kernel> make_noam_decay(const KernelArguments& arguments) {
    return rate_of(
        arguments,
        [rate = arguments.number("learning_rate"), model = static_cast<double>(arguments.whole("d_model")),
         warmup = static_cast<double>(arguments.whole("warmup_steps"))](std::int64_t step) {
            const auto n = static_cast<double>(step + 1);
            return rate / std::sqrt(model) * std::min(1.0 / std::sqrt(n), n * std::pow(warmup, -1.5));
        });
}

std::unique_ptr<Kernel> make_linear_warmup(const KernelArguments& arguments) {
    return rate_of(arguments,
                   [rate = arguments.in("rate"), steps = arguments.whole("steps"),
                    start = arguments.number("start"), end = arguments.number("end")](std::int64_t step) {
                       if (step >= steps) return static_cast<double>(rate[0]);
                       return start + (end - start) * static_cast<double>(step) / static_cast<double>(steps);
                   });
}

}  // namespace

Entries schedule_kernels() {
    return {
        {"constant_rate", make_constant_rate},
        {"cosine_decay", make_cosine_decay},
        {"exponential_decay", make_rate_decay<exponential>},
        {"inverse_time_decay", make_rate_decay<inverse_time>},
        {"linear_warmup", make_linear_warmup},
        {"natural_exp_decay", make_rate_decay<natural_exponential>},
        {"noam_decay", make_noam_decay},
        {"piecewise_rate", make_piecewise_rate},
        {"polynomial_decay", make_polynomial_decay},
    };
}

}  // namespace dtrain::kernels
