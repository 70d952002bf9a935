// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "comm/call.hpp"

namespace dtrain::comm {

/// "allreduce": the name of the Communicator's function.
constexpr std::string_view name_of(Operation operation) {
    constexpr std::string_view names[] = {"barrier",    "allreduce", "reduce_scatter",   "reduce_shares",
                                          "all_gather", "broadcast", "all_to_all",       "all_to_allv",
                                          "send",       "receive",   "nccl_communicator"};
    return names[static_cast<std::size_t>(operation)];
}

}  // namespace dtrain::comm
