// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "base/rank_error.hpp"
#include "spawn/spawn_folder.hpp"

namespace dtrain::spawning {

inline constexpr const char* request_variable = "DTRAIN_SPAWN";

/// What a process is told to make it a rank of a call of spawn().
struct SpawnRequest {
    std::size_t call = 0;  ///< index of the call in this program, from 0 on
    SpawnFolder folder;

    /// "0:/tmp/dtrain-x".
    std::string to_text() const;
    /// @throws UsageError if it is not a valid request
    static SpawnRequest parse(const std::string& text);
};

/// The request of this process, if spawn() started it. Processes that it starts itself do not inherit the
/// request.
const std::optional<SpawnRequest>& request_of_this_process();

/// The number of this rank of a call of spawn().
int spawned_rank();

/// Leaves why this rank is about to fail: for spawn(), for the report, and as a line on stderr.
void leave_failure(const SpawnRequest& request, const RankError& error);

/// Runs the function on the arguments, writes its result or failure, and exits.
[[noreturn]] void run_as_rank(const SpawnRequest& request,
                              const std::function<std::string(const std::string&)>& run);

}  // namespace dtrain::spawning
