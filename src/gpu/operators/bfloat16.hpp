// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>

#include "gpu/on_device.hpp"

namespace dtrain::gpu {

/// The bits of the nearest bfloat16, the even one of two; what is no number stays none.
ON_DEVICE inline std::uint16_t bfloat16_bits(float value) {
    std::uint32_t bits = 0;
    memcpy(&bits, &value, sizeof(bits));
    if (value != value) return static_cast<std::uint16_t>((bits >> 16U) | 0x40U);
    return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U);
}

/// That bfloat16's value.
ON_DEVICE inline float as_bfloat16(float value) {
    const std::uint32_t bits = std::uint32_t{bfloat16_bits(value)} << 16U;
    float rounded = 0;
    memcpy(&rounded, &bits, sizeof(rounded));
    return rounded;
}

}  // namespace dtrain::gpu
