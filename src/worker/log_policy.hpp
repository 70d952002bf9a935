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
    mode_t mode = 0600;      ///< private: programs print paths, hosts, now and then a key
    bool overwrite = false;  ///< begin anew instead of appending to what earlier jobs wrote
    /// Bytes from which on the log becomes `<log>.1` and begins again. Without a limit the program writes
    /// into the file itself; with one the worker does, from a pipe.
    std::optional<std::uintmax_t> max_size;
    LogFolders folders = LogFolders::own;
};

/// The log opened for reading and appending, with the permissions of the policy also when it was there
/// before.
/// @throws UsageError naming the file
FileDescriptor open_log(const std::filesystem::path& log, const LogPolicy& policy);

/// The same, but not valid when it fails; errno tells why.
FileDescriptor try_open_log(const std::filesystem::path& log, const LogPolicy& policy);

}  // namespace dtrain::worker
