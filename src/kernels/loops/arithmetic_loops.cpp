// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/loops/each_set.hpp"
#include "kernels/loops/loops.hpp"

namespace dtrain::kernels::loops {

EACH_SET void multiply(const float* x, const float* y, float* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] = x[i] * y[i];
}

EACH_SET void scale_and_shift(float a, float b, const float* x, float* y, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] = a * x[i] + b;
}

EACH_SET void multiply_difference(const float* y, const float* x, float a, float* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] = y[i] * (x[i] - a);
}

EACH_SET void add_scaled(const float* x, const float* y, float a, float* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] = x[i] + a * y[i];
}

EACH_SET void add_sign(const float* x, const float* y, float a, float* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] = x[i] + (y[i] > 0.0F ? a : y[i] < 0.0F ? -a : 0.0F);
}

EACH_SET void limit(const float* x, float min, float max, float* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] = x[i] < min ? min : x[i] > max ? max : x[i];
}

EACH_SET void add_product(const float* x, const float* y, float* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] += x[i] * y[i];
}

EACH_SET void normalisation_grad(const float* g, const float* h, float a, float b, float c, float* out,
                                 std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] = c * (g[i] - a - b * h[i]);
}

}  // namespace dtrain::kernels::loops
