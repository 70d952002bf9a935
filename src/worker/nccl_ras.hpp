// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "trace/rank_state.hpp"

namespace dtrain::worker {

/// Where the RAS thread of a process that uses NCCL can be asked.
struct RasAddress {
    std::string host = "localhost";  ///< a name or an address
    int port = 28028;

    friend bool operator==(const RasAddress&, const RasAddress&) = default;
};

/// Of a value of NCCL_RAS_ADDR: "host:port", "[::1]:port"; nothing if it is neither. Pure.
std::optional<RasAddress> parse_ras_address(std::string_view text);

/// What NCCL's RAS threads of this node tell of the processes; empty if none of these uses NCCL, and if none
/// answers in time. Asks addresses of this machine only.
/// @param processes of a rank
std::optional<trace::NcclView> nccl_view(const std::vector<pid_t>& processes,
                                         std::chrono::milliseconds limit);

}  // namespace dtrain::worker
