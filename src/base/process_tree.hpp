// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace dtrain {

/// Info about a process from /proc/PID/stat.
struct ProcessStat {
    pid_t parent = 0;
    char state = '?';    ///< R, S, D, T ..., as proc(5) has them
    bool ended = false;  ///< a zombie: its parent has not waited for it yet
    /// In clock ticks since boot: together with the pid it identifies a process uniquely.
    std::uint64_t start_time = 0;
    std::chrono::milliseconds cpu_time{0};  ///< its own, and that of children it has waited for
};

/// Nothing if there is no such process.
std::optional<ProcessStat> stat_of(pid_t pid);

/// Whether a process or thread is in this state of ProcessStat.
bool is_in_state(pid_t pid, char state);

/// The value of a field of a file in /proc that has one on each line: of "State:" in "State:\tS (sleeping)";
/// "" if it has no such field.
std::string field_of(std::string_view content, std::string_view name);

/// Of a thread, since it started.
struct ThreadTimes {
    std::chrono::nanoseconds on_processor{0};
    std::chrono::nanoseconds ready{0};  ///< to run, without a processor
};
/// 0 if there is no such thread, or the kernel does not count them.
ThreadTimes times_of(pid_t pid, pid_t thread);

/// How long a process's threads have been ready to run without a processor. 0 if there is no such process, or
/// the kernel does not count it.
std::chrono::milliseconds processor_wait_of(pid_t pid);

/// Bytes that a process has read and written by system calls: of files, pipes, sockets and terminals. 0 if
/// there is no such process, or it belongs to another user.
std::uintmax_t bytes_moved_by(pid_t pid);

/// Numbers of the descriptors that a process has open, without order; empty if there is no such process, or
/// it belongs to another user. For the caller it may have one more that is closed by then, the listing's own.
std::vector<int> open_descriptors(pid_t pid);

/// Of a process; none if it has ended.
std::vector<pid_t> threads_of(pid_t pid);

std::vector<pid_t> all_processes();

std::vector<pid_t> children_of(pid_t parent);

/// Every process below `root`, children before grandchildren, from /proc.
std::vector<pid_t> descendants_of(pid_t root);

/// The same by the kernel's lists of children, so that it takes time by their number and not by that of the
/// machine's processes. One may be missing while another ends: not for signals. Where the kernel has no such
/// lists (CONFIG_PROC_CHILDREN) it is descendants_of().
std::vector<pid_t> processes_below(pid_t root);

/// Sends signals, in this order, to every descendant of the calling process. If the caller is a subreaper,
/// these are all processes that its programs ever started, including those that called setsid or lost their
/// parent. One that is forked meanwhile may be missed.
/// @return who got them
std::vector<pid_t> signal_descendants(std::initializer_list<int> signals);

/// Processes whose environment in /proc contains NAME=value, except the caller.
std::vector<pid_t> processes_with_variable(const std::string& name, const std::string& value);

}  // namespace dtrain
