// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <dtrain/half.hpp>

#include "gpu/on_device.hpp"

namespace dtrain::gpu {

/// The bits of the nearest bfloat16, the even one of two; what is no number stays none.
ON_DEVICE inline std::uint16_t bfloat16_bits(float value) {
    return bfloat16(value).bits;
}

/// That bfloat16's value.
ON_DEVICE inline float as_bfloat16(float value) {
    return static_cast<float>(bfloat16(value));
}

}  // namespace dtrain::gpu
