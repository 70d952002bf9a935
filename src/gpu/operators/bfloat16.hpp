// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <dtrain/half.hpp>

#include "gpu/on_device.hpp"

namespace dtrain::gpu {

/// The bits of the nearest bfloat16, ties to even; NaN stays NaN.
ON_DEVICE inline std::uint16_t bfloat16_bits(float value) {
    return bfloat16(value).bits;
}

/// The value of that bfloat16.
ON_DEVICE inline float as_bfloat16(float value) {
    return static_cast<float>(bfloat16(value));
}

}  // namespace dtrain::gpu
