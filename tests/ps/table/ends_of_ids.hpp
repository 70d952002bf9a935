// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

namespace dtrain::ps {

inline constexpr auto min = std::numeric_limits<std::int64_t>::min();
inline constexpr auto max = std::numeric_limits<std::int64_t>::max();

}  // namespace dtrain::ps
