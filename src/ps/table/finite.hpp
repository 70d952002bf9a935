// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace dtrain::ps {

/// Whether no value is NaN or infinite.
inline bool is_finite(std::span<const float> values) {
    constexpr std::uint32_t exponent = 0x7f800000;
    std::uint32_t wrong = 0;
    for (const auto value : values)
        wrong |= (std::bit_cast<std::uint32_t>(value) & exponent) == exponent ? 1U : 0U;
    return wrong == 0;
}

}  // namespace dtrain::ps
