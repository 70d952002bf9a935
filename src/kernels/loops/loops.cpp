// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/loops/loops.hpp"

#include <array>
#include <bit>

#include "kernels/functors/exponential.hpp"
#include "kernels/loops/each_set.hpp"

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

}  // namespace

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

}  // namespace dtrain::kernels::loops
