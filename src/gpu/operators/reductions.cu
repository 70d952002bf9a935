// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/operators/sums.hpp"

namespace dtrain::gpu {
namespace {

template <class Real, bool is_mean>
std::unique_ptr<Kernel> make_sum(KernelContext& context, const KernelArguments& arguments) {
    const auto x = arguments.in<Real>("x");
    return kernel_of_sum<Real>(
        context, x.size(), Elements<Real>{x.data()},
        Store<Real>{arguments.out<Real>("out").data(), is_mean ? static_cast<Real>(x.size()) : Real(1)});
}

template <class Real, bool is_mean>
std::unique_ptr<Kernel> make_sum_grad(KernelContext& context, const KernelArguments& arguments) {
    const auto dx = arguments.out<Real>("x@grad");
    return kernel_for_each(context, dx.size(),
                           Spread<Real>{arguments.in<Real>("out@grad").data(),
                                        is_mean ? static_cast<Real>(dx.size()) : Real(1), dx.data()});
}

template <class Real>
std::unique_ptr<Kernel> make_weighted_sum(KernelContext& context, const KernelArguments& arguments) {
    const auto x = arguments.in<Real>("x");
    return kernel_of_sum<Real>(context, x.size(),
                               Products<Real>{x.data(), arguments.in<Real>("weight").data()},
                               Store<Real>{arguments.out<Real>("out").data(), 1});
}

template <class Real>
std::unique_ptr<Kernel> make_weighted_sum_grad(KernelContext& context, const KernelArguments& arguments) {
    const auto dx = arguments.out<Real>("x@grad");
    return kernel_for_each(context, dx.size(),
                           ScaledBy<Real>{arguments.in<Real>("weight").data(),
                                          arguments.in<Real>("out@grad").data(), dx.data()});
}

}  // namespace

Entries reduction_kernels() {
    return {
        {"mean", by_type<make_sum<float, true>, make_sum<double, true>>},
        {"mean_grad", by_type<make_sum_grad<float, true>, make_sum_grad<double, true>>},
        {"reduce_sum", by_type<make_sum<float, false>, make_sum<double, false>>},
        {"reduce_sum_grad", by_type<make_sum_grad<float, false>, make_sum_grad<double, false>>},
        {"weighted_sum", by_type<make_weighted_sum<float>, make_weighted_sum<double>>},
        {"weighted_sum_grad", by_type<make_weighted_sum_grad<float>, make_weighted_sum_grad<double>>},
    };
}

}  // namespace dtrain::gpu
