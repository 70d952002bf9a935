// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "trace/operation_log_format.hpp"

namespace dtrain::tests {

/// An operation that a rank's file has, in whole.
struct LoggedCall {
    std::string name;
    trace::OperationKind kind = trace::OperationKind::other;
    std::string group;
    std::uint64_t number = 0;
    std::string type;
    std::string reduction;
    std::string source;
    std::uint64_t count = 0;
    int peer = -1;
    int tag = 0;
    bool waits = false;
    bool has_ended = false;
    long long nanoseconds = 0;  ///< from its begin to its end

    /// "MPI_Allreduce 3 of MPI_COMM_WORLD: int x 1, sum"; the count of what may differ is "?".
    std::string text() const;
};

struct LoggedGroup {
    std::string name;
    int rank = 0;
    std::vector<int> job_ranks;
};

struct LoggedRank {
    std::vector<LoggedGroup> groups;  ///< the first is that of all ranks
    std::vector<LoggedCall> calls;    ///< the oldest first
    std::uint64_t completed = 0;

    std::vector<std::string> texts() const;
};

/// By rank.
std::map<int, LoggedRank> logged_ranks(const std::filesystem::path& folder);

}  // namespace dtrain::tests
