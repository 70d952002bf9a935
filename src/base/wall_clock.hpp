// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace dtrain {

/// Microseconds since 1970, by the machine's clock.
std::int64_t now_us();

}  // namespace dtrain
