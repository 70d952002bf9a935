// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "comm/api/call.hpp"

namespace dtrain::comm {

/// "allreduce": the name of the Communicator's function.
constexpr std::string_view name_of(Operation operation) {
    constexpr std::string_view names[] = {"barrier",    "allreduce", "reduce_scatter",    "reduce_shards",
                                          "all_gather", "broadcast", "all_to_all",        "all_to_allv",
                                          "send",       "receive",   "nccl_communicator", "receive_any",
                                          "subset"};
    return names[static_cast<std::size_t>(operation)];
}

/// "sum": the name of the enumerator.
constexpr std::string_view name_of(Reduction reduction) {
    constexpr std::string_view names[] = {"sum",     "average", "min",    "max",
                                          "product", "bit_and", "bit_or", "bit_xor"};
    return names[static_cast<std::size_t>(reduction)];
}

}  // namespace dtrain::comm
