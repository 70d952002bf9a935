// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "trace/operation_log_format.hpp"
#include "trace/rank_state.hpp"

namespace dtrain::trace {

/// What a process has left in its file; of a process that runs, at this moment.
struct ProcessOperations {
    int pid = 0;
    std::uint64_t completed = 0;  ///< operations since the process started
    std::vector<Group> groups = {};
    std::vector<Operation> operations = {};  ///< as in RankState
};

/// @param now by CLOCK_MONOTONIC, since the start of the machine
/// @returns nothing if the file is none, or not complete
std::optional<ProcessOperations> read_operation_log(const std::filesystem::path& file,
                                                    std::chrono::nanoseconds now);

struct TimedOperation {
    Operation operation;
    std::chrono::nanoseconds age{0};                    ///< since it began
    std::optional<std::chrono::nanoseconds> took = {};  ///< none: it goes on, or nobody has noted its end
};

/// All operations that are still in a process's file, the oldest first; none if the file is no log.
std::vector<TimedOperation> operations_in_log(const std::filesystem::path& file,
                                              std::chrono::nanoseconds now);

/// Files of the processes that run, and of those that have ended if none runs.
std::vector<std::filesystem::path> operation_logs_of(const std::filesystem::path& folder);

/// How a rank's processes go on, cheap enough for each sample.
struct OperationProgress {
    std::uint64_t completed = 0;  ///< operations of all processes
    /// The longest that any of them has waited for an operation that has not ended.
    std::optional<std::chrono::milliseconds> waited = {};
    bool any = false;  ///< any process has a log
};

/// @param folder that DTRAIN_OPERATION_LOG names; files of processes that have ended do not count
OperationProgress operation_progress(const std::filesystem::path& folder, std::chrono::nanoseconds now);

/// What is in operation_logs_of().
std::vector<ProcessOperations> read_operation_logs(const std::filesystem::path& folder,
                                                   std::chrono::nanoseconds now);

}  // namespace dtrain::trace
