// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace dtrain {

/// binary16 of IEEE 754: 1 sign, 5 exponent and 10 fraction bits. Storage only: arithmetic is done in float.
struct float16 {
    std::uint16_t bits = 0;  ///< as IEEE 754 orders them

    float16() = default;
    /// Rounds to nearest, ties to even; values that are too large become infinite, NaN stays NaN.
    constexpr explicit float16(float value);
    /// Exact.
    constexpr explicit operator float() const;
    /// The number with these bits.
    static float16 of_bits(std::uint16_t bits) {
        float16 value;
        value.bits = bits;
        return value;
    }
    bool operator==(const float16&) const = default;  ///< compares bits
};

/// bfloat16: the upper half of a float's bits. Storage only: arithmetic is done in float.
struct bfloat16 {
    std::uint16_t bits = 0;  ///< as those of the upper half of a float

    bfloat16() = default;
    /// Rounds to nearest, ties to even; NaN stays NaN.
    constexpr explicit bfloat16(float value);
    /// Exact.
    constexpr explicit operator float() const;
    /// The number with these bits.
    static bfloat16 of_bits(std::uint16_t bits) {
        bfloat16 value;
        value.bits = bits;
        return value;
    }
    bool operator==(const bfloat16&) const = default;  ///< compares bits
};

// The conversions have no branches, so that loops over them are vectorised.

constexpr float16::float16(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = word >> 16U & 0x8000U;
    const std::uint32_t magnitude = word & 0x7FFFFFFFU;
    // Below 2^-14, adding 0.5 makes the processor round at the last bit of a subnormal number.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(shifted) - 0x3F000000U;
    const std::uint32_t normal = (magnitude + 0xC8000FFFU + (magnitude >> 13U & 1U)) >> 13U;
    const std::uint32_t large = magnitude > 0x7F800000U ? 0x7E00U : 0x7C00U;
    const std::uint32_t finite = magnitude < 0x38800000U ? subnormal : normal;
    bits = static_cast<std::uint16_t>(sign | (magnitude >= 0x477FF000U ? large : finite));
}

constexpr float16::operator float() const {
    const std::uint32_t sign = (bits & 0x8000U) << 16U;
    const std::uint32_t magnitude = bits & 0x7FFFU;
    // 2^112 converts the exponent from one bias to the other, including subnormal numbers.
    const float scaled = std::bit_cast<float>(magnitude << 13U) * 0x1p112F;
    const std::uint32_t finite = std::bit_cast<std::uint32_t>(scaled);
    const std::uint32_t special = magnitude << 13U | 0x7F800000U;
    return std::bit_cast<float>(sign | (magnitude >= 0x7C00U ? special : finite));
}

constexpr bfloat16::bfloat16(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    const bool is_nan = (word & 0x7FFFFFFFU) > 0x7F800000U;
    const std::uint32_t rounded = word + 0x7FFFU + (word >> 16U & 1U);
    bits = static_cast<std::uint16_t>((is_nan ? word | 0x400000U : rounded) >> 16U);
}

constexpr bfloat16::operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

}  // namespace dtrain
