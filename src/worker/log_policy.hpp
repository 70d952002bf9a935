// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <sys/types.h>

#include "base/files.hpp"
#include "base/log_opening.hpp"

namespace dtrain::worker {

/// How a rank keeps its log.
struct LogPolicy {
    mode_t mode = 0600;      ///< private: programs print paths, host names, sometimes keys
    bool overwrite = false;  ///< truncate instead of appending to the output of earlier jobs
    /// Size in bytes at which the log is renamed to `<log>.1` and a new one begins. Without a limit the
    /// program writes directly into the file; with a limit the worker writes, reading from a pipe.
    std::optional<std::uintmax_t> max_size;
    LogFolders folders = LogFolders::own;
};

/// Opens the log for reading and appending, and sets the policy's permissions even if it already existed.
/// @throws UsageError naming the file
FileDescriptor open_log(const std::filesystem::path& log, const LogPolicy& policy);

/// The same, but returns an invalid descriptor on failure, with errno set.
FileDescriptor try_open_log(const std::filesystem::path& log, const LogPolicy& policy);

}  // namespace dtrain::worker
