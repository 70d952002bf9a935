// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/rank_state.hpp"
#include "trace/read_operation_log.hpp"

namespace dtrain::trace {

/// What a process that uses torch or Paddle tells of itself when its worker asks.
struct TorchRecord {
    std::string stacks = {};    ///< of its threads, as py-spy prints them
    std::string recorder = {};  ///< "torch" or, of Paddle's operations, "dtrain"
    std::vector<Group> groups = {};
    std::vector<Operation> operations = {};  ///< as in RankState
    std::vector<TimedOperation> all = {};    ///< the oldest first
};

/// Reads the answer of dtrain's Python package (python/dtrain/_worker_answers.py): JSON with "stacks",
/// "dumps", each in the format of torch's flight recorder (version 2; of Paddle's operations also with "root"
/// and "reduction"), and "waiting", the call that the main thread is in, where that says more than the dump.
/// Pure.
/// @param now since 1970
/// @returns nothing if the text is not of this form
std::optional<TorchRecord> read_torch_record(std::string_view text, std::chrono::nanoseconds now);

}  // namespace dtrain::trace
