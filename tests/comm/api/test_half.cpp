// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: IEEE 754 itself. Values of 16 bits from their definition; rounding by looking for the nearest of
// all 65,536 neighbours in the order of their bits.
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include <dtrain/half.hpp>

namespace dtrain {
namespace {

double defined_float16(std::uint16_t bits) {
    const double sign = (bits & 0x8000U) != 0 ? -1.0 : 1.0;
    const int exponent = bits >> 10U & 31U;
    const int fraction = bits & 1023U;
    if (exponent == 31) return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
    return exponent == 0 ? sign * std::ldexp(fraction, -24)
                         : sign * std::ldexp(1024 + fraction, exponent - 25);
}

TEST(Float16, EveryValueIsWhatIeee754Says) {
    for (unsigned bits = 0; bits < 65'536; ++bits) {
        const auto value = static_cast<float>(float16::of_bits(static_cast<std::uint16_t>(bits)));
        const double expected = defined_float16(static_cast<std::uint16_t>(bits));
        if (std::isnan(expected)) {
            ASSERT_TRUE(std::isnan(value)) << bits;
        } else {
            ASSERT_EQ(value, expected) << bits;
            ASSERT_EQ(float16(value).bits, bits);
        }
    }
}

/// The nearest of two neighbours, the even one in the middle.
template <class Half>
std::uint16_t nearest(float value) {
    const std::uint16_t infinity = Half(std::numeric_limits<float>::infinity()).bits;
    std::uint16_t low = 0;
    std::uint16_t high = infinity;
    const auto at = [](std::uint16_t bits) { return double{static_cast<float>(Half::of_bits(bits))}; };
    while (high - low > 1) {
        const auto middle = static_cast<std::uint16_t>((low + high) / 2);
        (at(middle) <= value ? low : high) = middle;
    }
    // Where infinity begins: the next number if there was one.
    const double above = high == infinity ? 2 * at(low) - at(static_cast<std::uint16_t>(low - 1)) : at(high);
    const double down = value - at(low);
    const double up = above - value;
    if (down == up) return low % 2 == 0 ? low : high;
    return down < up ? low : high;
}

template <class Half>
void expect_nearest() {
    std::mt19937 random(11);
    for (int i = 0; i < 200'000; ++i) {
        auto value = std::fabs(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
        if (i % 2 == 0)
            value = std::ldexp(1.0F + static_cast<float>(random() % 16'384) / 8192, int(random() % 45) - 28);
        if (!std::isfinite(value)) continue;
        ASSERT_EQ(Half(value).bits, nearest<Half>(value)) << value;
        ASSERT_EQ(Half(-value).bits, nearest<Half>(value) | 0x8000U) << value;
    }
    EXPECT_TRUE(std::isnan(static_cast<float>(Half(std::nanf("")))));
    EXPECT_TRUE(std::isinf(static_cast<float>(Half(std::numeric_limits<float>::max()))));
}

TEST(Float16, RoundsToTheNearest) {
    expect_nearest<float16>();
}

TEST(Bfloat16, RoundsToTheNearest) {
    expect_nearest<bfloat16>();
}

TEST(Bfloat16, IsTheUpperHalfOfAFloat) {
    EXPECT_EQ(bfloat16(1.0F).bits, 0x3F80U);
    EXPECT_EQ(static_cast<float>(bfloat16::of_bits(0xC048)), -3.125F);
    EXPECT_EQ(bfloat16(-0.0F).bits, 0x8000U);
}

}  // namespace
}  // namespace dtrain
