// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <dtrain/half.hpp>

#include "gpu/on_device.hpp"

namespace dtrain::gpu {

/// The bits of the nearest float16, the even one of two; too large becomes infinite, what is no number stays
/// none.
ON_DEVICE inline std::uint16_t float16_bits(float value) {
    return float16(value).bits;
}

/// That float16's value.
ON_DEVICE inline float as_float16(float value) {
    return static_cast<float>(float16(value));
}

}  // namespace dtrain::gpu
