// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <type_traits>

#include "kernels/functors/functions.hpp"
#include "kernels/loops/element_loops.hpp"
#include "kernels/loops/loops.hpp"
#include "kernels/operators.hpp"

namespace dtrain::kernels {
namespace {

template <class Real>
std::unique_ptr<Kernel> make_sum(const KernelArguments& arguments) {
    return kernel_of([terms = arguments.inputs_of("x"), out = arguments.out<Real>("out")] {
        std::ranges::copy(terms.front().template as<Real>(), out.begin());
        for (std::size_t i = 1; i < terms.size(); ++i)
            loops::add(static_cast<const Real*>(terms[i].data), out.data(), out.size());
    });
}

template <class Function, class Real>
std::unique_ptr<Kernel> make_element_wise(const KernelArguments& arguments) {
    std::array<const Real*, Function::inputs.size()> inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i)
        inputs[i] = arguments.in<Real>(Function::inputs[i]).data();
    return kernel_of(
        [inputs, out = arguments.out<Real>(Function::output),
         loop = loops::element_loop<Real>(Function::type)] { loop(inputs.data(), out.data(), out.size()); });
}

template <class Real>
std::unique_ptr<Kernel> make_scale(const KernelArguments& arguments) {
    return kernel_of([x = arguments.in<Real>("x"), out = arguments.out<Real>("out"),
                      scale = static_cast<Real>(arguments.number("scale")),
                      bias = static_cast<Real>(arguments.number("bias"))] {
        loops::scale_and_shift(scale, bias, x.data(), out.data(), out.size());
    });
}

template <class Real>
std::unique_ptr<Kernel> make_fill(const KernelArguments& arguments) {
    return kernel_of([value = static_cast<Real>(arguments.number("value")),
                      out = arguments.out<Real>("out")] { std::ranges::fill(out, value); });
}

// The gradient of a loss with respect to itself, times the loss scale.
template <class Real>
std::unique_ptr<Kernel> make_loss_gradient(const KernelArguments& arguments) {
    if (!arguments.has_input("scale")) return make_fill<Real>(arguments);
    return kernel_of([value = static_cast<Real>(arguments.number("value")),
                      scale = arguments.in<Real>("scale").data(),
                      out = arguments.out<Real>("out").data()] { *out = value * *scale; });
}

}  // namespace

Entries element_wise_kernels() {
    Entries entries{
        {"fill_like", by_type<make_fill<float>, make_fill<double>>},
        {"loss_gradient", by_type<make_loss_gradient<float>, make_loss_gradient<double>>},
        {"scale", by_type<make_scale<float>, make_scale<double>>},
        {"sum", by_type<make_sum<float>, make_sum<double>>},
    };
    ElementOperators::for_each([&]<class Function>(std::type_identity<Function>) {
        entries.push_back({Function::type,
                           by_type<make_element_wise<Function, float>, make_element_wise<Function, double>>});
    });
    return entries;
}

}  // namespace dtrain::kernels
