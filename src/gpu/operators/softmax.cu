// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/operators/rows.hpp"
#include "gpu/operators/softmax_row.hpp"

namespace dtrain::gpu {
namespace {

template <class Real>
struct Softmax {
    const Real* in;
    Real* out;
    std::size_t columns;

    template <class Team>
    ON_GPU void operator()(std::size_t row, const Team& team) const {
        softmax_row(team, in + row * columns, out + row * columns, columns);
    }
};

/// dx = y (dy - sum over the row of y dy)
template <class Real>
struct SoftmaxGradient {
    const Real* out;
    const Real* dout;
    Real* din;
    std::size_t columns;

    template <class Team>
    ON_GPU void operator()(std::size_t row, const Team& team) const {
        const Real* y = out + row * columns;
        const Real* dy = dout + row * columns;
        Real* dx = din + row * columns;
        Real dot = 0;
        for (std::size_t i = team.thread(); i < columns; i += team.threads()) dot += y[i] * dy[i];
        dot = team.sum(dot);
        for (std::size_t i = team.thread(); i < columns; i += team.threads()) dx[i] = y[i] * (dy[i] - dot);
    }
};

template <class Real>
std::unique_ptr<Kernel> make_softmax(KernelContext& context, const KernelArguments& arguments) {
    const auto columns = static_cast<std::size_t>(arguments.input("x").shape.back());
    const auto y = arguments.out<Real>("out");
    return kernel_for_each_row(context, y.size() / columns, columns,
                               Softmax<Real>{arguments.in<Real>("x").data(), y.data(), columns});
}

template <class Real>
std::unique_ptr<Kernel> make_softmax_grad(KernelContext& context, const KernelArguments& arguments) {
    const auto columns = static_cast<std::size_t>(arguments.input("out").shape.back());
    const auto dx = arguments.out<Real>("x@grad");
    return kernel_for_each_row(
        context, dx.size() / columns, columns,
        SoftmaxGradient<Real>{arguments.in<Real>("out").data(), arguments.in<Real>("out@grad").data(),
                              dx.data(), columns});
}

}  // namespace

Entries softmax_kernels() {
    return {
        {"softmax", by_type<make_softmax<float>, make_softmax<double>>},
        {"softmax_grad", by_type<make_softmax_grad<float>, make_softmax_grad<double>>},
    };
}

}  // namespace dtrain::gpu
