// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

/// CPU loops over the functions of functions.hpp, for float and double.
namespace dtrain::kernels::loops {

/// out[i] = f(inputs[0][i], inputs[1][i], ...)
template <class Real>
using ElementLoop = void (*)(const Real* const* inputs, Real* out, std::size_t n);

/// The loop of an element-wise operator. @throws Error if it is none of kernels::ElementOperators
template <class Real>
ElementLoop<Real> element_loop(std::string_view operator_type);

/// y[i][j] = activation(y[i][j] + bias[j]), for y of rows x columns
template <class Real>
using BiasLoop = void (*)(const Real* bias, Real* y, std::size_t rows, std::size_t columns);

/// @param activation "": none. @throws Error if it is none of kernels::Activations
template <class Real>
BiasLoop<Real> bias_loop(std::string_view activation);

}  // namespace dtrain::kernels::loops
