// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/plain_loops.hpp"

/// Loops over contiguous floats, compiled for several instruction sets; the dynamic loader selects one. The
/// order of a sum is fixed for a given length and instruction set.
namespace dtrain::kernels::loops {

void relu(const float* x, float* y, std::size_t n);
void tanh(const float* x, float* y, std::size_t n);
void sigmoid(const float* x, float* y, std::size_t n);

// dx from the function's own result y and dy.
void relu_grad(const float* y, const float* dy, float* dx, std::size_t n);
void tanh_grad(const float* y, const float* dy, float* dx, std::size_t n);
void sigmoid_grad(const float* y, const float* dy, float* dx, std::size_t n);

void sqrt(const float* x, float* y, std::size_t n);
void sqrt_grad(const float* y, const float* dy, float* dx, std::size_t n);

// out = x op y
void subtract(const float* x, const float* y, float* out, std::size_t n);
void multiply(const float* x, const float* y, float* out, std::size_t n);
void divide(const float* x, const float* y, float* out, std::size_t n);

/// dy of out = x / y
void divisor_grad(const float* y, const float* out, const float* dout, float* dy, std::size_t n);

/// y = a x + b
void scale_and_shift(float a, float b, const float* x, float* y, std::size_t n);

/// dx of y = x^2
void square_grad(const float* x, const float* dy, float* dx, std::size_t n);

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

/// y[i][j] = activation(y[i][j] + bias[j]), for y of rows x columns.
void add_bias(const float* bias, float* y, std::size_t rows, std::size_t columns);
void add_bias_relu(const float* bias, float* y, std::size_t rows, std::size_t columns);
void add_bias_tanh(const float* bias, float* y, std::size_t rows, std::size_t columns);
void add_bias_sigmoid(const float* bias, float* y, std::size_t rows, std::size_t columns);

/// p -= rate g
void sgd(float* p, const float* g, std::size_t n, float rate);

/// v = mu v + g; p -= rate v
void momentum(float* p, float* v, const float* g, std::size_t n, float rate, float mu);

/// v = mu v + g; p -= rate (g + mu v)
void nesterov(float* p, float* v, const float* g, std::size_t n, float rate, float mu);

/// s += g^2; p -= rate g / (sqrt(s) + epsilon)
void adagrad(float* p, float* s, const float* g, std::size_t n, float rate, float epsilon);

/// s and z are the sums n and z of McMahan et al., KDD 2013, algorithm 1
void ftrl(float* p, float* z, float* s, const float* g, std::size_t n, const FtrlFactors<float>& factors);

/// m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2; p -= rate m / (sqrt(v) + epsilon)
void adam(float* p, float* m, float* v, const float* g, std::size_t n, const AdamFactors<float>& factors);

/// p = kept p, then as adam()
void adamw(float* p, float* m, float* v, const float* g, std::size_t n, const AdamFactors<float>& factors,
           float kept);

}  // namespace dtrain::kernels::loops
