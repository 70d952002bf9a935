// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include <dtrain/environment.hpp>

#include "base/files.hpp"
#include "trace/rank_state.hpp"

namespace dtrain::worker {

/// Stack traces of a process, thread by thread, from py-spy (Python), else gdb, else the kernel.
struct Stacks {
    std::string text;
    std::string top;                 ///< the innermost call of the main thread, one line
    std::vector<std::string> calls;  ///< of the main thread, the innermost first; the kernel tells none
};

/// Where a program is.
struct StackSummary {
    std::string top;  ///< the innermost call of its first process, and how it goes on if stopped
    std::vector<std::string> calls;  ///< of its first process's main thread, the innermost first
    bool is_stopped = false;         ///< its first process is, by a signal or as `held_by` says
    std::string held_by;             ///< "held by a debugger (gdb, pid 77)"; "": by nobody
    /// What torch has recorded in its processes, as in RankState.
    std::vector<trace::Group> groups = {};
    std::vector<trace::Operation> operations = {};
    trace::NcclView nccl = {};  ///< what NCCL tells of them, if they have recorded nothing
    /// When one of these last began or ended; none: nothing is known.
    std::optional<std::chrono::steady_clock::time_point> last_operation = {};
};

/// @param tool_limit time after which a tool is ended and the next one is tried; tools that still work
/// have 22 seconds more, all together
/// @param own_stacks what the process itself tells of its threads, as py-spy prints it: for where there is
/// no py-spy
Stacks stacks_of(pid_t pid, const Environment& environment, std::chrono::milliseconds tool_limit,
                 const std::string& own_stacks = {});

/// All processes that a guard's program has started, the most relevant first: shells and wrappers that only
/// wait for a single child come after that child.
std::vector<pid_t> most_informative_first(pid_t guard, pid_t program);

/// Writes the stacks of processes into a file. A child process does this, because it may take long and the
/// worker must keep handling signals.
class StackCollection {
  public:
    /// @param processes most relevant first
    /// @param operations folder of the program's operation logs; "": it has none
    /// @param listing file to which all that torch has recorded is appended; "": there is none
    StackCollection(std::vector<pid_t> processes, std::filesystem::path file, mode_t mode,
                    Environment environment, std::filesystem::path operations = {},
                    std::filesystem::path listing = {});
    StackCollection(const StackCollection&) = delete;
    StackCollection& operator=(const StackCollection&) = delete;
    /// Ends the collection if it is still running, and lets processes go on that its debugger leaves stopped.
    ~StackCollection();

    /// Readable when the file is complete.
    int fd() const { return top_.get(); }
    /// Waits for completion.
    StackSummary finish();

  private:
    pid_t child_ = -1;
    FileDescriptor top_;
    std::vector<pid_t> running_;  ///< nothing had stopped these when it began
};

}  // namespace dtrain::worker
