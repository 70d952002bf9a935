// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "trace/rank_state.hpp"

namespace dtrain::trace {

/// Reads what NCCL's RAS thread of a process answers to `SET FORMAT json` (NCCL 2.28.7 and later) and
/// `VERBOSE STATUS`: JSON, or text with the ranks that differ from most. The answer is of all ranks of a job
/// over NCCL. What is unknown in it is passed over. Formats: docs/userguide/source/troubleshooting/ras.rst
/// and src/ras/client_support.cc of NCCL 2.24.3 to 2.30.7. Pure.
/// @param is_own whether a process is one of the rank
/// @returns nothing if it is no such answer, or one of a job without the rank; in text only the ranks that
/// differ are named, and no other can be told from one of another job: then `self` is empty
std::optional<NcclView> read_nccl_ras(std::string_view answer,
                                      const std::function<bool(const NcclProcess&)>& is_own);

}  // namespace dtrain::trace
