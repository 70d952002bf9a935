// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/api/call.hpp"

namespace dtrain::comm {

/// True for bit_and, bit_or and bit_xor, which floating-point numbers do not have.
constexpr bool combines_bits(Reduction reduction) {
    return reduction >= Reduction::bit_and;
}

/// @throws UsageError if the elements cannot be reduced like this; nothing for operations that only move data
void check_reduction(const Call& call);

}  // namespace dtrain::comm
