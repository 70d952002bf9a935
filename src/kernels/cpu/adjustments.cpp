// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/loops/loops.hpp"
#include "kernels/operators.hpp"
#include "kernels/updated_rows.hpp"

namespace dtrain::kernels {
namespace {

template <class Real>
using DecayLoop = void (*)(const Real* g, const Real* p, Real coefficient, Real* out, std::size_t n);

template <class Real, DecayLoop<Real> loop>
std::unique_ptr<Kernel> make_decay(const KernelArguments& arguments) {
    return kernel_of([rows = UpdatedRows(arguments), p = arguments.in<Real>("parameter").data(),
                      g = arguments.in<Real>("gradient"), out = arguments.out<Real>("out"),
                      coefficient = static_cast<Real>(arguments.number("coefficient")),
                      is_sparse = arguments.has_input("rows")] {
        if (is_sparse) std::ranges::copy(g, out.begin());  // padding at the end, which belongs to no row
        rows.for_each([&](std::size_t at, std::size_t from, std::size_t n) {
            loop(&g[from], p + at, coefficient, &out[from], n);
        });
    });
}

template <class Real>
std::unique_ptr<Kernel> make_clip_by_value(const KernelArguments& arguments) {
    return kernel_of([x = arguments.in<Real>("x"), out = arguments.out<Real>("out"),
                      min = static_cast<Real>(arguments.number("min")),
                      max = static_cast<Real>(arguments.number("max"))] {
        loops::limit(x.data(), min, max, out.data(), out.size());
    });
}

// The factor that scales a norm down to the allowed maximum.
template <class Real>
Real factor_for(Real square_sum, Real largest) {
    const Real norm = std::sqrt(square_sum);
    return norm > largest ? largest / norm : Real(1);
}

template <class Real>
std::unique_ptr<Kernel> make_clip_by_norm(const KernelArguments& arguments) {
    return kernel_of([x = arguments.in<Real>("x"), out = arguments.out<Real>("out"),
                      largest = static_cast<Real>(arguments.number("norm"))] {
        const Real factor = factor_for(loops::dot(x.data(), x.data(), x.size()), largest);
        loops::scale(factor, x.data(), out.data(), out.size());
    });
}

template <class Real>
std::unique_ptr<Kernel> make_global_norm_factor(const KernelArguments& arguments) {
    return kernel_of([gradients = arguments.inputs_of("x"), out = arguments.out<Real>("out"),
                      largest = static_cast<Real>(arguments.number("norm"))] {
        Real squares = 0;
        for (const auto& gradient : gradients) {
            const auto* x = static_cast<const Real*>(gradient.data);
            squares += loops::dot(x, x, gradient.size());
        }
        out[0] = factor_for(squares, largest);
    });
}

template <class Real>
std::unique_ptr<Kernel> make_scale_by(const KernelArguments& arguments) {
    return kernel_of(
        [x = arguments.in<Real>("x"), factor = arguments.in<Real>("factor"),
         out = arguments.out<Real>("out")] { loops::scale(factor[0], x.data(), out.data(), out.size()); });
}

}  // namespace

Entries adjustment_kernels() {
    return {
        {"clip_by_norm", by_type<make_clip_by_norm<float>, make_clip_by_norm<double>>},
        {"clip_by_value", by_type<make_clip_by_value<float>, make_clip_by_value<double>>},
        {"global_norm_factor", by_type<make_global_norm_factor<float>, make_global_norm_factor<double>>},
        {"l1_decay", by_type<make_decay<float, loops::add_sign>, make_decay<double, loops::add_sign>>},
        {"l2_decay", by_type<make_decay<float, loops::add_scaled>, make_decay<double, loops::add_scaled>>},
        {"scale_by", by_type<make_scale_by<float>, make_scale_by<double>>},
    };
}

}  // namespace dtrain::kernels
