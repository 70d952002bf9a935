// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/loops.hpp"
#include "kernels/operators.hpp"

namespace dtrain::kernels {
namespace {

template <class Real>
using Loop = void (*)(const Real*, Real*, std::size_t);
template <class Real>
using GradientLoop = void (*)(const Real*, const Real*, Real*, std::size_t);

// y = f(x)
template <class Real, Loop<Real> loop>
std::unique_ptr<Kernel> make_forward(const KernelArguments& arguments) {
    return kernel_of([x = arguments.in<Real>("x"), y = arguments.out<Real>("out")] {
        loop(x.data(), y.data(), x.size());
    });
}

// Computes dx from the function's own result.
template <class Real, GradientLoop<Real> loop>
std::unique_ptr<Kernel> make_gradient(const KernelArguments& arguments) {
    return kernel_of(
        [y = arguments.in<Real>("out"), dy = arguments.in<Real>("out@grad"),
         dx = arguments.out<Real>("x@grad")] { loop(y.data(), dy.data(), dx.data(), dx.size()); });
}

template <Loop<float> of_float, Loop<double> of_double>
constexpr Factory forward = by_type<make_forward<float, of_float>, make_forward<double, of_double>>;

template <GradientLoop<float> of_float, GradientLoop<double> of_double>
constexpr Factory gradient = by_type<make_gradient<float, of_float>, make_gradient<double, of_double>>;

// Processes a row of scores at a time.
template <class Real>
std::unique_ptr<Kernel> make_softmax(const KernelArguments& arguments) {
    return kernel_of([x = arguments.in<Real>("x"), y = arguments.out<Real>("out"),
                      classes = static_cast<std::size_t>(arguments.input("x").shape.back())] {
        for (std::size_t first = 0; first < x.size(); first += classes) {
            const Real largest = loops::max(&x[first], classes);
            const Real sum = loops::exp_minus(largest, &x[first], &y[first], classes);
            loops::scale(Real(1) / sum, &y[first], &y[first], classes);
        }
    });
}

// dx = y (dy - sum over the row of y dy)
template <class Real>
std::unique_ptr<Kernel> make_softmax_grad(const KernelArguments& arguments) {
    return kernel_of([y = arguments.in<Real>("out"), dy = arguments.in<Real>("out@grad"),
                      dx = arguments.out<Real>("x@grad"),
                      classes = static_cast<std::size_t>(arguments.input("out").shape.back())] {
        for (std::size_t first = 0; first < y.size(); first += classes) {
            const Real dot = loops::dot(&y[first], &dy[first], classes);
            loops::multiply_difference(&y[first], &dy[first], dot, &dx[first], classes);
        }
    });
}

}  // namespace

Entries activation_kernels() {
    return {
        {"relu", forward<loops::relu, loops::relu>},
        {"relu_grad", gradient<loops::relu_grad, loops::relu_grad>},
        {"sigmoid", forward<loops::sigmoid, loops::sigmoid>},
        {"sigmoid_grad", gradient<loops::sigmoid_grad, loops::sigmoid_grad>},
        {"softmax", by_type<make_softmax<float>, make_softmax<double>>},
        {"softmax_grad", by_type<make_softmax_grad<float>, make_softmax_grad<double>>},
        {"sqrt", forward<loops::sqrt, loops::sqrt>},
        {"sqrt_grad", gradient<loops::sqrt_grad, loops::sqrt_grad>},
        {"tanh", forward<loops::tanh, loops::tanh>},
        {"tanh_grad", gradient<loops::tanh_grad, loops::tanh_grad>},
    };
}

}  // namespace dtrain::kernels
