// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "kernels/loops/loops.hpp"
#include "kernels/operators.hpp"

namespace dtrain::kernels {
namespace {

// Number of elements that are normalised together; `rows_slot` has one element per such row.
std::size_t row_size(const KernelArguments& arguments, std::string_view rows_slot, bool is_output) {
    const auto rows = (is_output ? arguments.output(rows_slot) : arguments.input(rows_slot)).size();
    return arguments.input("x").size() / rows;
}

template <class Real>
std::unique_ptr<Kernel> make_layer_norm(const KernelArguments& arguments) {
    return kernel_of([x = arguments.in<Real>("x"), scale = arguments.in<Real>("scale"),
                      bias = arguments.in<Real>("bias"), out = arguments.out<Real>("out"),
                      mean = arguments.out<Real>("mean"), inverse = arguments.out<Real>("inverse_deviation"),
                      n = row_size(arguments, "mean", true), epsilon = arguments.number("epsilon")] {
        const auto count = static_cast<Real>(n);
        for (std::size_t row = 0; row < mean.size(); ++row) {
            const Real* from = &x[row * n];
            Real* to = &out[row * n];
            mean[row] = loops::sum(from, n) / count;
            loops::scale_and_shift(Real(1), -mean[row], from, to, n);
            const Real variance = loops::dot(to, to, n) / count;
            inverse[row] = Real(1) / std::sqrt(variance + static_cast<Real>(epsilon));
            loops::scale(inverse[row], to, to, n);
            loops::multiply(to, scale.data(), to, n);
            loops::add(bias.data(), to, n);
        }
    });
}

// With h the normalised x and g = dout scale: dx = (g - mean(g) - h mean(g h)) / deviation.
template <class Real>
std::unique_ptr<Kernel> make_layer_norm_grad(const KernelArguments& arguments) {
    const auto n = row_size(arguments, "mean", false);
    return kernel_of([x = arguments.in<Real>("x"), scale = arguments.in<Real>("scale"),
                      mean = arguments.in<Real>("mean"), inverse = arguments.in<Real>("inverse_deviation"),
                      dout = arguments.in<Real>("out@grad"), dx = arguments.out<Real>("x@grad"),
                      dscale = arguments.out<Real>("scale@grad"), dbias = arguments.out<Real>("bias@grad"), n,
                      h = std::vector<Real>(n), g = std::vector<Real>(n)]() mutable {
        const auto count = static_cast<Real>(n);
        std::ranges::fill(dscale, Real(0));
        std::ranges::fill(dbias, Real(0));
        for (std::size_t row = 0; row < mean.size(); ++row) {
            const Real* dy = &dout[row * n];
            loops::scale_and_shift(inverse[row], -mean[row] * inverse[row], &x[row * n], h.data(), n);
            loops::multiply(dy, scale.data(), g.data(), n);
            const Real mean_g = loops::sum(g.data(), n) / count;
            const Real mean_gh = loops::dot(g.data(), h.data(), n) / count;
            loops::normalisation_grad(g.data(), h.data(), mean_g, mean_gh, inverse[row], &dx[row * n], n);
            loops::add(dy, dbias.data(), n);
            loops::add_product(dy, h.data(), dscale.data(), n);
        }
    });
}

}  // namespace

Entries normalisation_kernels() {
    return {
        {"layer_norm", by_type<make_layer_norm<float>, make_layer_norm<double>>},
        {"layer_norm_grad", by_type<make_layer_norm_grad<float>, make_layer_norm_grad<double>>},
    };
}

}  // namespace dtrain::kernels
