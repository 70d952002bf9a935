// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <dtrain/environment.hpp>

#include "base/files.hpp"
#include "base/log_opening.hpp"
#include "launch/options.hpp"

namespace dtrain::launch {

/// A job's id: --job_id when given, else the scheduler's, else `otherwise`.
std::string job_name(const Options& options, const Environment& environment, const std::string& otherwise);

/// --log_dir with %j replaced by the job's id and %% by a percent sign.
std::string expanded_log_dir(const Options& options, const Environment& environment,
                             const std::string& otherwise);

/// Creates the folder of a job's logs.
/// @throws UsageError if it cannot be created or written to, or cannot be trusted.
void make_log_folder(const std::string& folder, LogFolders folders);

/// Marks a folder as used by a running job, for as long as the object lives.
class LogFolderClaim {
  public:
    /// @param who describes this job to others that find the folder claimed
    /// @throws UsageError if the claim would be written into a file that somebody else chose
    LogFolderClaim(const std::string& folder, const std::string& who, LogFolders folders);

    /// The job that already uses the folder, or nothing.
    const std::optional<std::string>& other() const { return other_; }

  private:
    FileDescriptor file_;
    std::optional<std::string> other_;
};

}  // namespace dtrain::launch
