// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "protocol/event.hpp"
#include "trace/rank_state.hpp"
#include "worker/stacks.hpp"

namespace dtrain::worker {

struct ProgramOfRank {
    int rank = 0;
    std::string host = {};
    pid_t guard = 0;
    pid_t program = 0;
    std::filesystem::path operations = {};  ///< folder of its operation logs; "": it has none
};

/// What a rank does at this moment, but for its calls. Others wait longer for it while a debugger looks at
/// it.
/// @param inactivity if it has been idle for long; none: the kernel is asked what the process does now
trace::RankState state_of_rank(const ProgramOfRank& program, std::optional<cluster::Inactivity> inactivity);

/// The same with its calls, what torch has recorded or NCCL tells, and whether it was stopped before a
/// debugger looked at it.
trace::RankState with_calls(trace::RankState state, StackSummary where);

}  // namespace dtrain::worker
