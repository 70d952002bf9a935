// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "gpu/operators/functions.hpp"
#include "gpu/operators/give.hpp"
#include "gpu/operators/loss_gradient.hpp"

namespace dtrain::gpu {
namespace {

template <class Real, class Function>
struct OfTwo {
    const Real* x;
    const Real* y;
    Real* out;
    ON_DEVICE void operator()(std::size_t i) const { out[i] = Function::value(x[i], y[i]); }
};

template <class Real, class Function>
struct OfThree {
    const Real* x;
    const Real* y;
    const Real* z;
    Real* out;
    ON_DEVICE void operator()(std::size_t i) const { out[i] = Function::value(x[i], y[i], z[i]); }
};

template <class Real>
struct Square {
    const Real* x;
    Real* out;
    ON_DEVICE void operator()(std::size_t i) const { out[i] = x[i] * x[i]; }
};

template <class Real>
struct ScaleAndShift {
    Real a;
    Real b;
    const Real* x;
    Real* out;
    ON_DEVICE void operator()(std::size_t i) const { out[i] = a * x[i] + b; }
};

template <class Real>
struct Fill {
    Real value;
    Real* out;
    ON_DEVICE void operator()(std::size_t i) const { out[i] = value; }
};

/// Adds several terms to the first one, one after the other.
template <class Real>
struct Sum {
    static constexpr std::size_t most = 8;

    const Real* terms[most];
    unsigned count;
    Real* out;

    ON_DEVICE void operator()(std::size_t i) const {
        Real sum = terms[0][i];
        for (unsigned term = 1; term < count; ++term) sum += terms[term][i];
        out[i] = sum;
    }
};

template <class Real>
std::unique_ptr<Kernel> make_sum_of_inputs(KernelContext& context, const KernelArguments& arguments) {
    const auto out = arguments.out<Real>("out");
    const auto inputs = arguments.inputs_of("x");
    std::vector<Sum<Real>> sums;
    for (std::size_t next = 0; next < inputs.size();) {
        Sum<Real> sum{{}, 0, out.data()};
        if (next > 0) sum.terms[sum.count++] = out.data();
        while (next < inputs.size() && sum.count < Sum<Real>::most)
            sum.terms[sum.count++] = inputs[next++].template as<Real>().data();
        sums.push_back(sum);
    }
    return kernels::kernel_of([&stream = context.stream, size = out.size(), sums = std::move(sums)] {
        for (const auto& sum : sums) for_each(stream, size, sum);
    });
}

constexpr char x[] = "x";
constexpr char y[] = "y";
constexpr char out[] = "out";
constexpr char label[] = "label";
constexpr char logits[] = "logits";
constexpr char out_grad[] = "out@grad";
constexpr char x_grad[] = "x@grad";
constexpr char y_grad[] = "y@grad";
constexpr char logits_grad[] = "logits@grad";

template <class Real, class Function, const char* a, const char* b, const char* to>
std::unique_ptr<Kernel> make_of_two(KernelContext& context, const KernelArguments& arguments) {
    const auto result = arguments.out<Real>(to);
    return kernel_for_each(
        context, result.size(),
        OfTwo<Real, Function>{arguments.in<Real>(a).data(), arguments.in<Real>(b).data(), result.data()});
}

template <class Real, class Function, const char* a, const char* b, const char* c, const char* to>
std::unique_ptr<Kernel> make_of_three(KernelContext& context, const KernelArguments& arguments) {
    const auto result = arguments.out<Real>(to);
    return kernel_for_each(context, result.size(),
                           OfThree<Real, Function>{arguments.in<Real>(a).data(), arguments.in<Real>(b).data(),
                                                   arguments.in<Real>(c).data(), result.data()});
}

template <class Function, const char* a, const char* b, const char* to>
constexpr Factory of_two =
    by_type<make_of_two<float, Function, a, b, to>, make_of_two<double, Function, a, b, to>>;

template <class Function, const char* a, const char* b, const char* c, const char* to>
constexpr Factory of_three =
    by_type<make_of_three<float, Function, a, b, c, to>, make_of_three<double, Function, a, b, c, to>>;

template <class Real>
std::unique_ptr<Kernel> make_square(KernelContext& context, const KernelArguments& arguments) {
    const auto result = arguments.out<Real>("out");
    return kernel_for_each(context, result.size(),
                           Square<Real>{arguments.in<Real>("x").data(), result.data()});
}

template <class Real>
std::unique_ptr<Kernel> make_scale(KernelContext& context, const KernelArguments& arguments) {
    const auto result = arguments.out<Real>("out");
    return kernel_for_each(context, result.size(),
                           ScaleAndShift<Real>{static_cast<Real>(arguments.number("scale")),
                                               static_cast<Real>(arguments.number("bias")),
                                               arguments.in<Real>("x").data(), result.data()});
}

template <class Real>
std::unique_ptr<Kernel> make_fill(KernelContext& context, const KernelArguments& arguments) {
    const auto result = arguments.out<Real>("out");
    return kernel_for_each(context, result.size(),
                           Fill<Real>{static_cast<Real>(arguments.number("value")), result.data()});
}

template <class Real>
std::unique_ptr<Kernel> make_loss_gradient(KernelContext& context, const KernelArguments& arguments) {
    return kernel_for_each(context, arguments.out<Real>("out").size(), LossGradient<Real>::from(arguments));
}

}  // namespace

Entries element_wise_kernels() {
    return {
        {"bce_with_logits", of_two<CrossEntropyWithLogits, logits, label, out>},
        {"bce_with_logits_grad",
         of_three<CrossEntropyWithLogitsGradient, logits, label, out_grad, logits_grad>},
        {"divide", of_two<Over, x, y, out>},
        {"divide_grad_y", of_three<DivisorGradient, y, out, out_grad, y_grad>},
        {"fill_like", by_type<make_fill<float>, make_fill<double>>},
        {"loss_gradient", by_type<make_loss_gradient<float>, make_loss_gradient<double>>},
        {"multiply", of_two<Times, x, y, out>},
        {"scale", by_type<make_scale<float>, make_scale<double>>},
        {"square", by_type<make_square<float>, make_square<double>>},
        {"square_grad", of_two<SquareGradient, x, out_grad, x_grad>},
        {"subtract", of_two<Minus, x, y, out>},
        {"sum", by_type<make_sum_of_inputs<float>, make_sum_of_inputs<double>>},
    };
}

}  // namespace dtrain::gpu
