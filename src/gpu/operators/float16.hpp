// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <dtrain/half.hpp>

#include "gpu/on_device.hpp"

namespace dtrain::gpu {

/// The bits of the nearest float16, ties to even; values that are too large become infinite, NaN stays NaN.
ON_DEVICE inline std::uint16_t float16_bits(float value) {
    return float16(value).bits;
}

/// The value of that float16.
ON_DEVICE inline float as_float16(float value) {
    return static_cast<float>(float16(value));
}

}  // namespace dtrain::gpu
