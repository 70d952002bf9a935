// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace dtrain {

/// How the ranks' values are combined. Integer sums wrap on overflow; integer averages are rounded towards
/// zero. float16 and bfloat16 are summed in float and rounded once. A minimum or maximum of values that
/// include NaN is the same on every rank, but may or may not be NaN.
enum class Reduction : std::uint8_t {
    sum,      ///< of all ranks' values
    average,  ///< the sum divided by the number of ranks
    min,      ///< the smallest value
    max       ///< the largest value
};

}  // namespace dtrain
