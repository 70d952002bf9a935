// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scheduler/scheduler.hpp"

namespace dtrain::scheduler {

/// OpenPBS, PBS Professional and Torque.
class Pbs final : public Scheduler {
  public:
    std::string_view name() const override { return "pbs"; }
    std::string_view title() const override { return "PBS"; }

    std::string job_id(const Environment& environment) const override;
    std::optional<Allocation> allocation(const Environment& environment,
                                         const ReadFile& read_file) const override;
    std::string remote_shell(const Environment& environment, const ReadFile& read_file) const override;
    std::optional<std::vector<cluster::HostSlots>> hosts_of_ranks(const Environment& environment,
                                                                  const ReadFile& read_file) const override;

    std::string_view submit_program() const override { return "qsub"; }
    std::string_view further_option() const override { return "--qsub"; }
    std::string script(const JobRequest& request) const override;
    std::string submit(const std::string& script, const JobRequest& request,
                       const Environment& environment) const override;
    std::string output_file(const JobRequest& request, const std::string& number) const override;
    std::optional<std::vector<QueuedJob>> queued(const std::vector<std::string>& numbers,
                                                 const Environment& environment) const override;
    std::vector<std::string> cancel_command(const std::string& number, bool gently) const override;
};

/// Parses the output of `qstat -f`. Pure.
std::vector<QueuedJob> parse_qstat(std::string_view output);

/// The job's name in PBS; old servers take at most 15 characters, of which the first is a letter.
std::string name_in_pbs(const JobRequest& request);

/// Converts a time limit in sbatch's notation ("90", "1:30:00", "2-12") to that of PBS: "36:00:00".
/// @throws UsageError if it is not a valid time limit
std::string walltime_of(const std::string& time);

}  // namespace dtrain::scheduler
