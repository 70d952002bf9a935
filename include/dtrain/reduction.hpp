// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace dtrain {

/// How the ranks' values are combined. Integer sums and products wrap on overflow; integer averages are
/// rounded towards zero, and those of 64 bits are of the sum that has wrapped. float16 and bfloat16 are added
/// and multiplied in float and rounded once. A minimum or maximum of values that include NaN is the same on
/// every rank, but may or may not be NaN. Bits are combined of integers only.
enum class Reduction : std::uint8_t {
    sum,      ///< of all ranks' values
    average,  ///< the sum divided by the number of ranks
    min,      ///< the smallest value
    max,      ///< the largest value
    product,  ///< of all ranks' values
    bit_and,  ///< the bits that all ranks' values have
    bit_or,   ///< the bits that any rank's value has
    bit_xor   ///< the bits that an odd number of the ranks' values have
};

}  // namespace dtrain
