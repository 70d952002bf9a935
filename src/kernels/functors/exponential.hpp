// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/functors/on_device.hpp"

/// exp() and tanh(). For floats on the CPU they have no branches, so that loops over them are vectorised;
/// else they are those of the standard library.
namespace dtrain::kernels {

PER_ELEMENT double exponential(double x) {
    return std::exp(x);
}

PER_ELEMENT double hyperbolic_tangent(double x) {
    return std::tanh(x);
}

// Relative error below 2e-7. Cody and Waite: x = n ln 2 + r with the two-part ln 2 of Cephes' expf, exp(r) by
// Cephes' polynomial. Arguments are limited to the range where the result is a normal number.
PER_ELEMENT float exponential(float x) {
#ifdef __CUDA_ARCH__
    return std::exp(x);
#else
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
#endif
}

// Cephes' tanhf: a polynomial near zero, where 1 - 2 / (exp(2x) + 1) would lose digits.
PER_ELEMENT float hyperbolic_tangent(float x) {
#ifdef __CUDA_ARCH__
    return std::tanh(x);
#else
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
#endif
}

}  // namespace dtrain::kernels
