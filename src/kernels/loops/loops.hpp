// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/loops/plain_loops.hpp"

/// Loops over contiguous floats, compiled for several instruction sets; the dynamic loader selects one. The
/// order of a sum is fixed for a given length and instruction set.
namespace dtrain::kernels::loops {

/// out = x y
void multiply(const float* x, const float* y, float* out, std::size_t n);

/// y = a x + b
void scale_and_shift(float a, float b, const float* x, float* y, std::size_t n);

/// out = y (x - a)
void multiply_difference(const float* y, const float* x, float a, float* out, std::size_t n);

/// out = x + a y
void add_scaled(const float* x, const float* y, float a, float* out, std::size_t n);

/// out = x + a sign(y)
void add_sign(const float* x, const float* y, float a, float* out, std::size_t n);

/// out = x, limited to [min, max]
void limit(const float* x, float min, float max, float* out, std::size_t n);

/// out += x y
void add_product(const float* x, const float* y, float* out, std::size_t n);

/// out = c (g - a - b h)
void normalisation_grad(const float* g, const float* h, float a, float b, float c, float* out, std::size_t n);

/// y += x
void add(const float* x, float* y, std::size_t n);

/// y = a x
void scale(float a, const float* x, float* y, std::size_t n);

/// True if no element is infinite or NaN.
bool are_finite(const float* x, std::size_t n);

/// y = exp(x - a); returns the sum of y.
float exp_minus(float a, const float* x, float* y, std::size_t n);

float sum(const float* x, std::size_t n);
float dot(const float* x, const float* y, std::size_t n);

/// The maximum of n >= 1 values.
float max(const float* x, std::size_t n);

/// out[j] = sum over i of x[i][j], for x of rows x columns.
void column_sum(const float* x, float* out, std::size_t rows, std::size_t columns);

}  // namespace dtrain::kernels::loops
