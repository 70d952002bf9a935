// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include <dtrain/environment.hpp>

#include "base/files.hpp"

namespace dtrain::worker {

/// Where a process is, thread by thread, as py-spy (Python), else gdb, else the kernel tells it.
struct Stacks {
    std::string text;
    std::string top;  ///< the innermost call of the main thread, one line
};

/// @param tool_limit after which a tool is ended and the next one asked
Stacks stacks_of(pid_t pid, const Environment& environment, std::chrono::milliseconds tool_limit);

/// The innermost call of the main thread in what `py-spy dump` printed; empty: none. Pure.
std::string top_of_py_spy(std::string_view output);
/// The same for gdb's `thread apply all bt`. Pure.
std::string top_of_gdb(std::string_view output);

/// All that a guard's program has started, that process first which it is about: behind the shells and
/// wrappers, each with a single child, that only wait for it.
std::vector<pid_t> most_informative_first(pid_t guard, pid_t program);

/// Writes the stacks of processes into a file. That happens in a child process, because it may take long and
/// a worker must stay able to hear its signals.
class StackCollection {
  public:
    /// @param processes the one that matters most first
    StackCollection(std::vector<pid_t> processes, std::filesystem::path file, mode_t mode,
                    Environment environment);
    StackCollection(const StackCollection&) = delete;
    StackCollection& operator=(const StackCollection&) = delete;
    /// Ends it when it still runs.
    ~StackCollection();

    /// Readable when the file is complete.
    int fd() const { return top_.get(); }
    /// Waits until then; the innermost call of the first process, or nothing.
    std::string finish();

  private:
    pid_t child_ = -1;
    FileDescriptor top_;
};

}  // namespace dtrain::worker
