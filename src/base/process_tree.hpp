// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace dtrain {

/// What /proc/PID/stat says of a process.
struct ProcessStat {
    pid_t parent = 0;
    bool ended = false;  ///< its parent has not taken notice yet
    /// In clock ticks since the machine was booted: with the pid it names a process for good.
    std::uint64_t start_time = 0;
    std::chrono::milliseconds cpu_time{0};  ///< its own, and that of the children that it has waited for
};

/// Nothing when there is no such process.
std::optional<ProcessStat> stat_of(pid_t pid);

/// Every process below `root`, children before grandchildren, from /proc.
std::vector<pid_t> descendants_of(pid_t root);

/// Sends a signal to every descendant of the calling process. With the caller a subreaper that is everything
/// its programs ever started, also what called setsid or lost its parent.
void signal_descendants(int signal);

/// Processes whose environment holds NAME=value as /proc shows it, the caller excluded.
std::vector<pid_t> processes_with_variable(const std::string& name, const std::string& value);

}  // namespace dtrain
