// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <dtrain/comm_error.hpp>
#include <dtrain/environment.hpp>

#include "base/rank_error.hpp"

namespace dtrain::comm {

/// DTRAIN_COMM_TIMEOUT: how long operations wait for other ranks; 0: no deadline. @throws UsageError
std::chrono::seconds deadline_of(const Environment& environment);

/// The exception that ranks throw after the deadline.
CommunicatorTimeout timeout(std::string_view operation, std::uint64_t number,
                            std::chrono::duration<double> waited, std::vector<MissingRank> missing, int rank);

/// The same for an operation that any rank could have ended.
CommunicatorTimeout timeout_of_any(std::string_view operation, std::uint64_t number,
                                   std::chrono::duration<double> waited, std::vector<MissingRank> missing);

/// The timeout as a rank's error. Pure.
/// @param job_ranks number in the job of each rank of the communicator; empty: they are the same
RankError rank_error_of(const CommunicatorTimeout& timeout, std::span<const int> job_ranks = {});

/// Leaves the timeout in the error file of this rank, since only shutting down is possible afterwards, and
/// returns it.
CommunicatorTimeout reported(CommunicatorTimeout timeout, std::span<const int> job_ranks = {});

}  // namespace dtrain::comm
