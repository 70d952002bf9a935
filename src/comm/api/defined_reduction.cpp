// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/api/defined_reduction.hpp"

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "comm/api/operation_name.hpp"

namespace dtrain::comm {

void check_reduction(const Call& call) {
    if (!combines_bits(call.reduction) || is_integer(call.element)) return;
    throw UsageError(
        fmt::format("{} ({}) of {}: bits are combined of integers only; floating-point numbers have "
                    "sum, average, min, max and product",
                    name_of(call.operation), name_of(call.reduction), to_string(call.element)));
}

}  // namespace dtrain::comm
