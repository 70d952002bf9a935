// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <type_traits>

#include "gpu/operators/give.hpp"
#include "gpu/operators/loss_gradient.hpp"
#include "kernels/functors/functions.hpp"

namespace dtrain::gpu {
namespace {

template <class Real, class Function>
struct EachElement {
    static constexpr std::size_t arity = Function::inputs.size();

    const Real* inputs[arity];
    Real* out;

    ON_DEVICE void operator()(std::size_t i) const {
        if constexpr (arity == 1)
            out[i] = Function::value(inputs[0][i]);
        else if constexpr (arity == 2)
            out[i] = Function::value(inputs[0][i], inputs[1][i]);
        else
            out[i] = Function::value(inputs[0][i], inputs[1][i], inputs[2][i]);
    }
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

template <class Function, class Real>
std::unique_ptr<Kernel> make_element_wise(KernelContext& context, const KernelArguments& arguments) {
    EachElement<Real, Function> body{};
    for (std::size_t i = 0; i < body.arity; ++i)
        body.inputs[i] = arguments.in<Real>(Function::inputs[i]).data();
    const auto out = arguments.out<Real>(Function::output);
    body.out = out.data();
    return kernel_for_each(context, out.size(), body);
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
    Entries entries{
        {"fill_like", by_type<make_fill<float>, make_fill<double>>},
        {"loss_gradient", by_type<make_loss_gradient<float>, make_loss_gradient<double>>},
        {"scale", by_type<make_scale<float>, make_scale<double>>},
        {"sum", by_type<make_sum_of_inputs<float>, make_sum_of_inputs<double>>},
    };
    kernels::ElementOperators::for_each([&]<class Function>(std::type_identity<Function>) {
        entries.push_back({Function::type,
                           by_type<make_element_wise<Function, float>, make_element_wise<Function, double>>});
    });
    return entries;
}

}  // namespace dtrain::gpu
