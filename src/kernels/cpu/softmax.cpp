// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/loops/loops.hpp"
#include "kernels/operators.hpp"

namespace dtrain::kernels {
namespace {

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

Entries softmax_kernels() {
    return {
        {"softmax", by_type<make_softmax<float>, make_softmax<double>>},
        {"softmax_grad", by_type<make_softmax_grad<float>, make_softmax_grad<double>>},
    };
}

}  // namespace dtrain::kernels
