// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/loops.hpp"

#include <array>
#include <bit>
#include <cmath>

#include "kernels/each_set.hpp"

namespace dtrain::kernels::loops {
namespace {

// Number of partial sums of a reduction: fills the registers of every instruction set; they are added in a
// fixed order.
constexpr std::size_t lanes = 32;

[[gnu::always_inline]] inline float total(const std::array<float, lanes>& parts) {
    float sums[lanes / 2];
    for (std::size_t i = 0; i < lanes / 2; ++i) sums[i] = parts[i] + parts[i + lanes / 2];
    for (std::size_t width = lanes / 4; width > 0; width /= 2)
        for (std::size_t i = 0; i < width; ++i) sums[i] += sums[i + width];
    return sums[0];
}

// exp() without branches, so that loops over it are vectorised; relative error below 2e-7. Cody and Waite: x
// = n ln 2 + r with the two-part ln 2 of Cephes' expf, exp(r) by Cephes' polynomial. Arguments are limited to
// the range where the result is a normal number.
[[gnu::always_inline]] inline float exponential(float x) {
    x = x < -87.0F ? -87.0F : x;
    x = x > 88.0F ? 88.0F : x;
    // Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits.
    const float shifted = x * 1.44269504F + 12582912.0F;
    const float n = shifted - 12582912.0F;
    const float r = (x - n * 0.693359375F) - n * -2.12194440e-4F;
    float p = 1.9875691500e-4F;
    p = p * r + 1.3981999507e-3F;
    p = p * r + 8.3334519073e-3F;
    p = p * r + 4.1665795894e-2F;
    p = p * r + 1.6666665459e-1F;
    p = p * r + 5.0000001201e-1F;
    p = p * r * r + r + 1.0F;
    return p * std::bit_cast<float>((std::bit_cast<std::uint32_t>(shifted) + 127U) << 23U);
}

// Cephes' tanhf: a polynomial near zero, where 1 - 2 / (exp(2x) + 1) would lose digits.
[[gnu::always_inline]] inline float hyperbolic_tangent(float x) {
    const float z = std::fabs(x);
    const float far = 1.0F - 2.0F / (exponential(2.0F * z) + 1.0F);
    const float s = x * x;
    float p = -5.70498872745e-3F;
    p = p * s + 2.06390887954e-2F;
    p = p * s - 5.37397155531e-2F;
    p = p * s + 1.33314422036e-1F;
    p = p * s - 3.33332819422e-1F;
    const float near = p * s * x + x;
    return z > 0.625F ? std::copysign(far, x) : near;
}

// NaN propagates: a run that has diverged must not look like one that learns nothing.
[[gnu::always_inline]] inline float rectified(float x) {
    return x < 0.0F ? 0.0F : x;
}

[[gnu::always_inline]] inline float logistic(float x) {
    return 1.0F / (1.0F + exponential(-x));
}

template <class Function>
[[gnu::always_inline]] inline void with_bias(const float* bias, float* y, std::size_t rows,
                                             std::size_t columns, Function function) {
    for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t column = 0; column < columns; ++column)
            y[row * columns + column] = function(y[row * columns + column] + bias[column]);
}

}  // namespace

EACH_SET void relu(const float* x, float* y, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] = rectified(x[i]);
}

EACH_SET void tanh(const float* x, float* y, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] = hyperbolic_tangent(x[i]);
}

EACH_SET void sigmoid(const float* x, float* y, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] = logistic(x[i]);
}

EACH_SET void relu_grad(const float* y, const float* dy, float* dx, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) dx[i] = y[i] > 0.0F ? dy[i] : 0.0F;
}

EACH_SET void tanh_grad(const float* y, const float* dy, float* dx, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) dx[i] = dy[i] * (1.0F - y[i] * y[i]);
}

EACH_SET void sigmoid_grad(const float* y, const float* dy, float* dx, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) dx[i] = dy[i] * y[i] * (1.0F - y[i]);
}

EACH_SET void add(const float* x, float* y, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] += x[i];
}

EACH_SET void scale(float a, const float* x, float* y, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] = a * x[i];
}

EACH_SET float exp_minus(float a, const float* x, float* y, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] = exponential(x[i] - a);
    float result = 0.0F;
    for (std::size_t i = 0; i < n; ++i) result += y[i];
    return result;
}

EACH_SET bool are_finite(const float* x, std::size_t n) {
    constexpr std::uint32_t exponent = 0x7F800000U;  // all of its bits are set in infinities and NaN
    std::uint32_t bad = 0;
    for (std::size_t i = 0; i < n; ++i)
        bad |= (std::bit_cast<std::uint32_t>(x[i]) & exponent) == exponent ? 1U : 0U;
    return bad == 0;
}

EACH_SET float sum(const float* x, std::size_t n) {
    std::array<float, lanes> parts{};
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes)
        for (std::size_t lane = 0; lane < lanes; ++lane) parts[lane] += x[i + lane];
    for (; i < n; ++i) parts[i % lanes] += x[i];
    return total(parts);
}

EACH_SET float dot(const float* x, const float* y, std::size_t n) {
    std::array<float, lanes> parts{};
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes)
        for (std::size_t lane = 0; lane < lanes; ++lane) parts[lane] += x[i + lane] * y[i + lane];
    for (; i < n; ++i) parts[i % lanes] += x[i] * y[i];
    return total(parts);
}

EACH_SET float max(const float* x, std::size_t n) {
    float largest = x[0];
    for (std::size_t i = 1; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
    return largest;
}

EACH_SET void column_sum(const float* x, float* out, std::size_t rows, std::size_t columns) {
    // Blocks of columns whose sums stay in registers over all rows.
    std::size_t first = 0;
    for (; first + lanes <= columns; first += lanes) {
        std::array<float, lanes> parts{};
        for (std::size_t row = 0; row < rows; ++row)
            for (std::size_t lane = 0; lane < lanes; ++lane) parts[lane] += x[row * columns + first + lane];
        for (std::size_t lane = 0; lane < lanes; ++lane) out[first + lane] = parts[lane];
    }
    for (std::size_t column = first; column < columns; ++column) out[column] = 0.0F;
    for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t column = first; column < columns; ++column) out[column] += x[row * columns + column];
}

EACH_SET void add_bias(const float* bias, float* y, std::size_t rows, std::size_t columns) {
    with_bias(
        bias, y, rows, columns, [](float x) __attribute__((always_inline)) { return x; });
}

EACH_SET void add_bias_relu(const float* bias, float* y, std::size_t rows, std::size_t columns) {
    with_bias(
        bias, y, rows, columns, [](float x) __attribute__((always_inline)) { return rectified(x); });
}

EACH_SET void add_bias_tanh(const float* bias, float* y, std::size_t rows, std::size_t columns) {
    with_bias(
        bias, y, rows, columns, [](float x) __attribute__((always_inline)) { return hyperbolic_tangent(x); });
}

EACH_SET void add_bias_sigmoid(const float* bias, float* y, std::size_t rows, std::size_t columns) {
    with_bias(
        bias, y, rows, columns, [](float x) __attribute__((always_inline)) { return logistic(x); });
}

}  // namespace dtrain::kernels::loops
