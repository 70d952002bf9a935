// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "gpu/operators/give.hpp"
#include "gpu/operators/table.hpp"

namespace dtrain::gpu {
namespace {

/// Sets its output to function(completed steps).
template <class Function>
struct Scheduled {
    Function function;
    const std::int64_t* step;
    float* out;
    ON_DEVICE void operator()(std::size_t /*one*/) const { *out = static_cast<float>(function(*step)); }
};

template <class Function>
Scheduled<Function> rate_of(const KernelArguments& arguments, const Function& function) {
    return {function, arguments.in<std::int64_t>("step").data(), arguments.out("out").data()};
}

template <class Function>
std::unique_ptr<Kernel> make_rate(KernelContext& context, const KernelArguments& arguments,
                                  const Function& function) {
    return kernel_for_each(context, 1, rate_of(arguments, function));
}

struct Constant {
    double rate;
    ON_DEVICE double operator()(std::int64_t /*step*/) const { return rate; }
};

struct Exponential {
    ON_DEVICE static double factor(double decay_rate, double periods) {
        return std::pow(decay_rate, periods);
    }
};

struct NaturalExponential {
    ON_DEVICE static double factor(double decay_rate, double periods) {
        return std::exp(-decay_rate * periods);
    }
};

struct InverseTime {
    ON_DEVICE static double factor(double decay_rate, double periods) {
        return 1.0 / (1.0 + decay_rate * periods);
    }
};

/// A learning rate times factor(decay rate, elapsed periods).
template <class Kind>
struct Decay {
    double rate;
    double decay_rate;
    double decay_steps;
    bool staircase;

    ON_DEVICE double operator()(std::int64_t step) const {
        const double periods = static_cast<double>(step) / decay_steps;
        return rate * Kind::factor(decay_rate, staircase ? std::floor(periods) : periods);
    }
};

struct PolynomialDecay {
    double rate;
    double steps;
    double end;
    double power;
    bool cycle;

    ON_DEVICE double operator()(std::int64_t step) const {
        const auto t = static_cast<double>(step);
        const double length = cycle ? steps * std::fmax(1.0, std::ceil(t / steps)) : steps;
        return (rate - end) * std::pow(1.0 - std::fmin(t, length) / length, power) + end;
    }
};

struct Piecewise {
    const std::int64_t* boundaries;
    std::size_t count;
    const double* values;

    ON_DEVICE double operator()(std::int64_t step) const {
        std::size_t piece = 0;
        while (piece < count && boundaries[piece] <= step) ++piece;
        return values[piece];
    }
};

struct CosineDecay {
    double rate;
    std::int64_t steps_per_epoch;
    double epochs;

    ON_DEVICE double operator()(std::int64_t step) const {
        constexpr double pi = 3.141592653589793;
        const std::int64_t epoch = step / steps_per_epoch;
        return rate * (std::cos(pi * static_cast<double>(epoch) / epochs) + 1.0) / 2.0;
    }
};

struct NoamDecay {
    double rate;
    double model;
    double warmup;

    ON_DEVICE double operator()(std::int64_t step) const {
        const auto n = static_cast<double>(step + 1);
        return rate / std::sqrt(model) * std::fmin(1.0 / std::sqrt(n), n * std::pow(warmup, -1.5));
    }
};

struct LinearWarmup {
    const float* rate;
    std::int64_t steps;
    double start;
    double end;

    ON_DEVICE double operator()(std::int64_t step) const {
        if (step >= steps) return static_cast<double>(*rate);
        return start + (end - start) * static_cast<double>(step) / static_cast<double>(steps);
    }
};

std::unique_ptr<Kernel> make_constant_rate(KernelContext& context, const KernelArguments& arguments) {
    return make_rate(context, arguments, Constant{arguments.number("learning_rate")});
}

template <class Kind>
std::unique_ptr<Kernel> make_rate_decay(KernelContext& context, const KernelArguments& arguments) {
    return make_rate(context, arguments,
                     Decay<Kind>{arguments.number("learning_rate"), arguments.number("decay_rate"),
                                 arguments.number("decay_steps"), arguments.whole("staircase") != 0});
}

std::unique_ptr<Kernel> make_polynomial_decay(KernelContext& context, const KernelArguments& arguments) {
    return make_rate(
        context, arguments,
        PolynomialDecay{arguments.number("learning_rate"), arguments.number("decay_steps"),
                        arguments.number("end"), arguments.number("power"), arguments.whole("cycle") != 0});
}

std::unique_ptr<Kernel> make_piecewise_rate(KernelContext& context, const KernelArguments& arguments) {
    Table<std::int64_t> boundaries(context.stream, arguments.wholes("boundaries"));
    Table<double> values(context.stream, arguments.numbers("values"));
    const auto rate = rate_of(arguments, Piecewise{boundaries.data(), boundaries.size(), values.data()});
    return kernels::kernel_of([&stream = context.stream, boundaries = std::move(boundaries),
                               values = std::move(values), rate] { for_each(stream, 1, rate); });
}

std::unique_ptr<Kernel> make_cosine_decay(KernelContext& context, const KernelArguments& arguments) {
    return make_rate(context, arguments,
                     CosineDecay{arguments.number("learning_rate"), arguments.whole("steps_per_epoch"),
                                 static_cast<double>(arguments.whole("epochs"))});
}

std::unique_ptr<Kernel> make_noam_decay(KernelContext& context, const KernelArguments& arguments) {
    return make_rate(
        context, arguments,
        NoamDecay{arguments.number("learning_rate"), static_cast<double>(arguments.whole("d_model")),
                  static_cast<double>(arguments.whole("warmup_steps"))});
}

std::unique_ptr<Kernel> make_linear_warmup(KernelContext& context, const KernelArguments& arguments) {
    return make_rate(context, arguments,
                     LinearWarmup{arguments.in("rate").data(), arguments.whole("steps"),
                                  arguments.number("start"), arguments.number("end")});
}

}  // namespace

Entries schedule_kernels() {
    return {
        {"constant_rate", make_constant_rate},
        {"cosine_decay", make_cosine_decay},
        {"exponential_decay", make_rate_decay<Exponential>},
        {"inverse_time_decay", make_rate_decay<InverseTime>},
        {"linear_warmup", make_linear_warmup},
        {"natural_exp_decay", make_rate_decay<NaturalExponential>},
        {"noam_decay", make_noam_decay},
        {"piecewise_rate", make_piecewise_rate},
        {"polynomial_decay", make_polynomial_decay},
    };
}

}  // namespace dtrain::gpu
