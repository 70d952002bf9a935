// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>

namespace dtrain::comm {

/// Identifies the process of a rank to the other ranks of its node.
struct RankProcess {
    pid_t pid = 0;
    std::uint64_t start_time = 0;     ///< a process that has the pid later has another one
    std::uint64_t pid_namespace = 0;  ///< the pid means something in this one only; 0: unknown
};

RankProcess own_rank_process();

/// True once a process has ended, also if its parent has not waited for it; false also if that cannot be
/// known here (a process of another container, no /proc).
bool has_ended(const RankProcess& process);

/// "its process, 4711, has ended"
std::string ended_text(const RankProcess& process);

}  // namespace dtrain::comm
