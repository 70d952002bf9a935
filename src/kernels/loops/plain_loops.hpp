// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

/// The loops of loops.hpp for any other real type, in practice double: for checks, so they follow the
/// formulas directly.
namespace dtrain::kernels::loops {

template <class Real>
void add(const Real* x, Real* y, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] += x[i];
}

template <class Real>
void scale(Real a, const Real* x, Real* y, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] = a * x[i];
}

template <class Real>
Real exp_minus(Real a, const Real* x, Real* y, std::size_t n) {
    Real sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += y[i] = std::exp(x[i] - a);
    return sum;
}

template <class Real>
Real sum(const Real* x, std::size_t n) {
    Real result = 0;
    for (std::size_t i = 0; i < n; ++i) result += x[i];
    return result;
}

template <class Real>
Real dot(const Real* x, const Real* y, std::size_t n) {
    Real result = 0;
    for (std::size_t i = 0; i < n; ++i) result += x[i] * y[i];
    return result;
}

template <class Real>
Real max(const Real* x, std::size_t n) {
    return *std::max_element(x, x + n);
}

template <class Real>
void column_sum(const Real* x, Real* out, std::size_t rows, std::size_t columns) {
    std::fill_n(out, columns, Real(0));
    for (std::size_t row = 0; row < rows; ++row) add(x + row * columns, out, columns);
}

template <class Real>
void multiply(const Real* x, const Real* y, Real* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] = x[i] * y[i];
}

template <class Real>
void scale_and_shift(Real a, Real b, const Real* x, Real* y, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] = a * x[i] + b;
}

template <class Real>
void multiply_difference(const Real* y, const Real* x, Real a, Real* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] = y[i] * (x[i] - a);
}

template <class Real>
void add_scaled(const Real* x, const Real* y, Real a, Real* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] = x[i] + a * y[i];
}

template <class Real>
void add_sign(const Real* x, const Real* y, Real a, Real* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] = x[i] + (y[i] > 0 ? a : y[i] < 0 ? -a : Real(0));
}

template <class Real>
void limit(const Real* x, Real min, Real max, Real* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] = x[i] < min ? min : x[i] > max ? max : x[i];
}

template <class Real>
void add_product(const Real* x, const Real* y, Real* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] += x[i] * y[i];
}

template <class Real>
void normalisation_grad(const Real* g, const Real* h, Real a, Real b, Real c, Real* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] = c * (g[i] - a - b * h[i]);
}

}  // namespace dtrain::kernels::loops
