// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <sys/types.h>

#include "base/files.hpp"
#include "worker/guard.hpp"

/// Real programs for tests of supervision. Whatever waits here gives up after a time that only a hanging test
/// needs.
namespace dtrain::worker {

/// `/bin/sh -c script`, writing into `output`.
GuardedProgram shell(const std::string& script, FileDescriptor output, std::chrono::milliseconds grace);

/// False when nothing came for too long.
bool wait_readable(int fd);

/// The next line without its end, or what there was before the end or the limit.
std::string read_line(int fd);

/// All there is until the last writer is gone; "(timed out)" is appended when that does not happen.
std::string read_to_end(int fd);

/// True when the process neither runs nor waits to be reaped.
bool is_gone(pid_t pid);

/// Runs `body` in a forked child, whose signals, limits and children are its own, and returns its exit status
/// (128 + signal when it was killed).
int in_child(const std::function<int()>& body);

/// Opens for appending, as workers open logs.
FileDescriptor open_log(const std::filesystem::path& path);

}  // namespace dtrain::worker
