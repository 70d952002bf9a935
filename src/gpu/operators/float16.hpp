// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>

#include "gpu/on_device.hpp"

namespace dtrain::gpu {

/// The bits of the nearest float16, the even one of two; too large becomes infinite, what is no number stays
/// none. As dtrain/half.hpp.
ON_DEVICE inline std::uint16_t float16_bits(float value) {
    std::uint32_t word = 0;
    memcpy(&word, &value, sizeof(word));
    const std::uint32_t magnitude = word & 0x7FFFFFFFU;
    std::uint32_t bits = 0;
    if (magnitude >= 0x477FF000U) {
        bits = magnitude > 0x7F800000U ? 0x7E00U : 0x7C00U;
    } else if (magnitude < 0x38800000U) {
        // Below 2^-14 the addition of 0.5 lets the processor round at the last bit of a subnormal number.
        float shifted = 0;
        memcpy(&shifted, &magnitude, sizeof(shifted));
        shifted += 0.5F;
        memcpy(&bits, &shifted, sizeof(bits));
        bits -= 0x3F000000U;
    } else {
        bits = (magnitude + 0xC8000FFFU + ((magnitude >> 13U) & 1U)) >> 13U;
    }
    return static_cast<std::uint16_t>(((word >> 16U) & 0x8000U) | bits);
}

/// That float16's value.
ON_DEVICE inline float as_float16(float value) {
    const std::uint32_t bits = float16_bits(value);
    const std::uint32_t moved = (bits & 0x7FFFU) << 13U;
    std::uint32_t word = moved | 0x7F800000U;
    if (moved < 0x7C00U << 13U) {
        float scaled = 0;
        memcpy(&scaled, &moved, sizeof(scaled));
        scaled *= 0x1p112F;  // from one bias of exponents to the other, subnormal numbers included
        memcpy(&word, &scaled, sizeof(word));
    }
    word |= (bits & 0x8000U) << 16U;
    float rounded = 0;
    memcpy(&rounded, &word, sizeof(rounded));
    return rounded;
}

}  // namespace dtrain::gpu
