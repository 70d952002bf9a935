// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/loops/loops.hpp"
#include "kernels/operators.hpp"

namespace dtrain::kernels {
namespace {

template <class Real>
std::unique_ptr<Kernel> make_mean(const KernelArguments& arguments) {
    return kernel_of([x = arguments.in<Real>("x"), y = arguments.out<Real>("out")] {
        y[0] = loops::sum(x.data(), x.size()) / static_cast<Real>(x.size());
    });
}

template <class Real>
std::unique_ptr<Kernel> make_mean_grad(const KernelArguments& arguments) {
    return kernel_of([dy = arguments.in<Real>("out@grad"), dx = arguments.out<Real>("x@grad")] {
        std::ranges::fill(dx, dy[0] / static_cast<Real>(dx.size()));
    });
}

template <class Real>
std::unique_ptr<Kernel> make_reduce_sum(const KernelArguments& arguments) {
    return kernel_of([x = arguments.in<Real>("x"), y = arguments.out<Real>("out")] {
        y[0] = loops::sum(x.data(), x.size());
    });
}

template <class Real>
std::unique_ptr<Kernel> make_reduce_sum_grad(const KernelArguments& arguments) {
    return kernel_of([dy = arguments.in<Real>("out@grad"), dx = arguments.out<Real>("x@grad")] {
        std::ranges::fill(dx, dy[0]);
    });
}

template <class Real>
std::unique_ptr<Kernel> make_weighted_sum(const KernelArguments& arguments) {
    return kernel_of(
        [rows = arguments.in<Real>("x"), weight = arguments.in<Real>("weight"),
         out = arguments.out<Real>("out")] { out[0] = loops::dot(rows.data(), weight.data(), rows.size()); });
}

template <class Real>
std::unique_ptr<Kernel> make_weighted_sum_grad(const KernelArguments& arguments) {
    return kernel_of(
        [weight = arguments.in<Real>("weight"), dy = arguments.in<Real>("out@grad"),
         dx = arguments.out<Real>("x@grad")] { loops::scale(dy[0], weight.data(), dx.data(), dx.size()); });
}

}  // namespace

Entries reduction_kernels() {
    return {
        {"mean", by_type<make_mean<float>, make_mean<double>>},
        {"mean_grad", by_type<make_mean_grad<float>, make_mean_grad<double>>},
        {"reduce_sum", by_type<make_reduce_sum<float>, make_reduce_sum<double>>},
        {"reduce_sum_grad", by_type<make_reduce_sum_grad<float>, make_reduce_sum_grad<double>>},
        {"weighted_sum", by_type<make_weighted_sum<float>, make_weighted_sum<double>>},
        {"weighted_sum_grad", by_type<make_weighted_sum_grad<float>, make_weighted_sum_grad<double>>},
    };
}

}  // namespace dtrain::kernels
