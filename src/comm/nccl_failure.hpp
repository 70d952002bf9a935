// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include "comm/failure_monitor.hpp"

namespace dtrain::comm {

/// For a failure that came without a code of NCCL's.
inline constexpr int nccl_internal_error = 3;

/// Where a rank was when it gave up.
struct NcclWait {
    std::string_view operation;
    std::uint64_t number = 0;
    std::chrono::duration<double> waited{};
    int rank = 0;
};

/// What it throws: an NcclError that names the ranks on which something failed, or a CommunicatorTimeout that
/// names those that are missing. Pure.
/// @param own_reason why this rank failed, if it did
/// @param afterwards to be added to the message
std::exception_ptr nccl_failure(const NcclWait& wait, const Absence& absence, const std::string& own_reason,
                                const std::string& afterwards);

}  // namespace dtrain::comm
