// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include "comm/failure/failure_monitor.hpp"

namespace dtrain::comm {

/// For a failure without an NCCL error code.
inline constexpr int nccl_internal_error = 3;

/// State of a rank when it gave up.
struct NcclWait {
    std::string_view operation;
    std::uint64_t number = 0;
    std::chrono::duration<double> waited{};
    int rank = 0;
};

/// The exception to throw: an NcclError naming the ranks on which something failed, or a CommunicatorTimeout
/// naming the missing ones. Pure.
/// @param own_reason why this rank failed, if it did
/// @param afterwards appended to the message
std::exception_ptr nccl_failure(const NcclWait& wait, const Absence& absence, const std::string& own_reason,
                                const std::string& afterwards);

/// Leaves such an exception in the error file of this rank.
/// @param job_ranks as in reported()
void report_nccl_failure(const std::exception_ptr& failure, std::span<const int> job_ranks);

}  // namespace dtrain::comm
