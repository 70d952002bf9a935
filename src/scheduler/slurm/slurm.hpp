// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scheduler/scheduler.hpp"

namespace dtrain::scheduler {

class Slurm final : public Scheduler {
  public:
    std::string_view name() const override { return "slurm"; }
    std::string_view title() const override { return "Slurm"; }

    std::string job_id(const Environment& environment) const override;
    std::optional<Allocation> allocation(const Environment& environment,
                                         const ReadFile& read_file) const override;
    std::optional<LauncherTask> own_task(const Environment& environment) const override;
    std::vector<std::string> warnings(const Environment& environment) const override;

    std::string_view submit_program() const override { return "sbatch"; }
    std::string_view further_option() const override { return "--sbatch"; }
    std::string script(const JobRequest& request) const override;
    std::string submit(const std::string& script, const JobRequest& request,
                       const Environment& environment) const override;
    std::string output_file(const JobRequest& request, const std::string& number) const override;
    std::optional<std::vector<QueuedJob>> queued(const std::vector<std::string>& numbers,
                                                 const Environment& environment) const override;
    std::vector<std::string> cancel_command(const std::string& number, bool gently) const override;
    std::vector<std::string> command_on_node(const std::string& host, const std::string& number,
                                             const std::vector<std::string>& args) const override;
};

/// Parses the output of `squeue --noheader --format=%i|%T|%B|%r`. Pure.
std::vector<QueuedJob> parse_squeue(std::string_view output);

}  // namespace dtrain::scheduler
