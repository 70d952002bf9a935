// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/environment.hpp>

#include "launch/jobs/job_record.hpp"

/// Runs commands about a job on the machine of the job's launcher.
namespace dtrain::launch {

/// The command line that runs `args` (dtrain-launch and its arguments) on the machine of a job's launcher by
/// ssh. Pure.
std::vector<std::string> command_by_ssh(const std::string& host, const std::filesystem::path& folder,
                                        const std::vector<std::string>& args);

/// How to reach the machine of a job's launcher.
class Way {
  public:
    /// Tries ssh, and then the job's scheduler; takes at most some seconds.
    Way(const JobRecord& record, const std::filesystem::path& folder, const Environment& environment);

    /// Why the machine cannot be reached; "" if it can.
    const std::string& obstacle() const { return obstacle_; }
    /// Whether commands there run as a step of the job, and may be killed when the job ends.
    bool is_step() const { return !by_ssh_; }

    std::vector<std::string> command(const std::vector<std::string>& args) const;

  private:
    std::vector<std::string> command_of_scheduler(const std::vector<std::string>& args) const;

    const JobRecord& record_;
    const std::filesystem::path& folder_;
    const Environment& environment_;
    bool by_ssh_ = false;
    std::string obstacle_;
};

}  // namespace dtrain::launch
