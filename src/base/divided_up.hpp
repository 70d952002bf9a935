// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace dtrain {

/// number / by, rounded up.
/// @param number not negative
constexpr std::int64_t divided_up(std::int64_t number, std::int64_t by) {
    return (number + by - 1) / by;
}

}  // namespace dtrain
