// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "gpu/operators/column_sums.hpp"
#include "gpu/operators/rows.hpp"

namespace dtrain::gpu {
namespace {

template <class Real>
struct LayerNorm {
    const Real* x;
    const Real* scale;
    const Real* bias;
    Real* out;
    Real* mean;
    Real* inverse;
    std::size_t n;
    Real epsilon;

    template <class Team>
    ON_GPU void operator()(std::size_t row, const Team& team) const {
        const Real* from = x + row * n;
        Real* to = out + row * n;
        Real sum = 0;
        for (std::size_t i = team.thread(); i < n; i += team.threads()) sum += from[i];
        const Real middle = team.sum(sum) / static_cast<Real>(n);
        Real squares = 0;
        for (std::size_t i = team.thread(); i < n; i += team.threads())
            squares += (from[i] - middle) * (from[i] - middle);
        const Real factor = 1 / std::sqrt(team.sum(squares) / static_cast<Real>(n) + epsilon);
        for (std::size_t i = team.thread(); i < n; i += team.threads())
            to[i] = (from[i] - middle) * factor * scale[i] + bias[i];
        if (team.thread() != 0) return;
        mean[row] = middle;
        inverse[row] = factor;
    }
};

template <class Real>
std::unique_ptr<Kernel> make_layer_norm(KernelContext& context, const KernelArguments& arguments) {
    const auto x = arguments.in<Real>("x");
    const auto mean = arguments.out<Real>("mean");
    const auto n = x.size() / mean.size();
    return kernel_for_each_row(
        context, mean.size(), n,
        LayerNorm<Real>{x.data(), arguments.in<Real>("scale").data(), arguments.in<Real>("bias").data(),
                        arguments.out<Real>("out").data(), mean.data(),
                        arguments.out<Real>("inverse_deviation").data(), n,
                        static_cast<Real>(arguments.number("epsilon"))});
}

/// With h the normalised x and g = dout scale: dx = (g - mean(g) - h mean(g h)) / deviation.
template <class Real>
struct LayerNormGradient {
    const Real* x;
    const Real* scale;
    const Real* mean;
    const Real* inverse;
    const Real* dout;
    Real* dx;
    std::size_t n;

    ON_DEVICE Real normalised(std::size_t row, std::size_t i) const {
        return (x[row * n + i] - mean[row]) * inverse[row];
    }

    template <class Team>
    ON_GPU void operator()(std::size_t row, const Team& team) const {
        Real sum_g = 0;
        Real sum_gh = 0;
        for (std::size_t i = team.thread(); i < n; i += team.threads()) {
            const Real g = dout[row * n + i] * scale[i];
            sum_g += g;
            sum_gh += g * normalised(row, i);
        }
        const Real mean_g = team.sum(sum_g) / static_cast<Real>(n);
        const Real mean_gh = team.sum(sum_gh) / static_cast<Real>(n);
        for (std::size_t i = team.thread(); i < n; i += team.threads()) {
            const Real g = dout[row * n + i] * scale[i];
            dx[row * n + i] = inverse[row] * (g - mean_g - mean_gh * normalised(row, i));
        }
    }
};

template <class Real>
struct ScaleTerms {
    LayerNormGradient<Real> gradient;
    ON_DEVICE Real operator()(std::size_t row, std::size_t i) const {
        return gradient.dout[row * gradient.n + i] * gradient.normalised(row, i);
    }
};

template <class Real>
std::unique_ptr<Kernel> make_layer_norm_grad(KernelContext& context, const KernelArguments& arguments) {
    const auto x = arguments.in<Real>("x");
    const auto mean = arguments.in<Real>("mean");
    const auto rows = mean.size();
    const auto n = x.size() / rows;
    const LayerNormGradient<Real> gradient{
        x.data(),
        arguments.in<Real>("scale").data(),
        mean.data(),
        arguments.in<Real>("inverse_deviation").data(),
        arguments.in<Real>("out@grad").data(),
        arguments.out<Real>("x@grad").data(),
        n,
    };
    return kernels::kernel_of([&stream = context.stream, rows, n, gradient,
                               of_scale = ColumnSums<Real, ScaleTerms<Real>>(
                                   rows, n, {gradient}, arguments.out<Real>("scale@grad").data()),
                               of_bias = ColumnSums<Real, MatrixTerms<Real>>(
                                   rows, n, {gradient.dout, n}, arguments.out<Real>("bias@grad").data())] {
        for_each_row(stream, rows, n, gradient);
        of_scale.run(stream);
        of_bias.run(stream);
    });
}

}  // namespace

Entries normalisation_kernels() {
    return {
        {"layer_norm", by_type<make_layer_norm<float>, make_layer_norm<double>>},
        {"layer_norm_grad", by_type<make_layer_norm_grad<float>, make_layer_norm_grad<double>>},
    };
}

}  // namespace dtrain::gpu
