// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

#include <dtrain/comm_error.hpp>
#include <dtrain/environment.hpp>

namespace dtrain::comm {

/// DTRAIN_COMM_TIMEOUT: how long operations wait for other ranks; 0: no deadline. @throws UsageError
std::chrono::seconds deadline_of(const Environment& environment);

/// The exception that ranks throw after the deadline.
CommunicatorTimeout timeout(std::string_view operation, std::uint64_t number,
                            std::chrono::duration<double> waited, std::vector<MissingRank> missing, int rank);

}  // namespace dtrain::comm
