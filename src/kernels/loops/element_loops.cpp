// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/loops/element_loops.hpp"

#include <string>

#include <dtrain/error.hpp>

#include "kernels/functors/functions.hpp"
#include "kernels/loops/each_set.hpp"

namespace dtrain::kernels::loops {
namespace {

template <class Function, class Real>
EACH_SET void each_element(const Real* const* inputs, Real* out, std::size_t n) {
    const Real* const x = inputs[0];
    if constexpr (Function::inputs.size() == 1) {
        for (std::size_t i = 0; i < n; ++i) out[i] = Function::value(x[i]);
    } else if constexpr (Function::inputs.size() == 2) {
        const Real* const y = inputs[1];
        for (std::size_t i = 0; i < n; ++i) out[i] = Function::value(x[i], y[i]);
    } else {
        const Real* const y = inputs[1];
        const Real* const z = inputs[2];
        for (std::size_t i = 0; i < n; ++i) out[i] = Function::value(x[i], y[i], z[i]);
    }
}

template <class Function, class Real>
EACH_SET void each_with_bias(const Real* bias, Real* y, std::size_t rows, std::size_t columns) {
    for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t column = 0; column < columns; ++column)
            y[row * columns + column] = Function::value(y[row * columns + column] + bias[column]);
}

}  // namespace

template <class Real>
ElementLoop<Real> element_loop(std::string_view operator_type) {
    ElementLoop<Real> loop = nullptr;
    ElementOperators::for_each([&]<class Function>(std::type_identity<Function>) {
        if (Function::type == operator_type) loop = each_element<Function, Real>;
    });
    if (loop == nullptr) throw Error("there is no loop over '" + std::string(operator_type) + "'");
    return loop;
}

template <class Real>
BiasLoop<Real> bias_loop(std::string_view activation) {
    BiasLoop<Real> loop = activation.empty() ? each_with_bias<NoActivation, Real> : nullptr;
    Activations::for_each([&]<class Function>(std::type_identity<Function>) {
        if (Function::type == activation) loop = each_with_bias<Function, Real>;
    });
    if (loop == nullptr) throw Error("there is no activation '" + std::string(activation) + "'");
    return loop;
}

template ElementLoop<float> element_loop(std::string_view);
template ElementLoop<double> element_loop(std::string_view);
template BiasLoop<float> bias_loop(std::string_view);
template BiasLoop<double> bias_loop(std::string_view);

}  // namespace dtrain::kernels::loops
