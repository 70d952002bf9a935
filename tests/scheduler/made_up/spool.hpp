// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scheduler/scheduler.hpp"

namespace dtrain::tests {

/// A scheduler that dtrain does not have: its queue is the folder $SPOOL_DIR with a script NUMBER.sh for each
/// job, NUMBER.runs beside it while the job runs. A job has $SPOOL_JOB and the names of its nodes in
/// $SPOOL_NODES.
class Spool final : public scheduler::Scheduler {
  public:
    std::string_view name() const override { return "spool"; }
    std::string_view title() const override { return "Spool"; }

    std::string job_id(const Environment& environment) const override;
    std::optional<scheduler::Allocation> allocation(const Environment& environment,
                                                    const scheduler::ReadFile& read_file) const override;

    std::string_view submit_program() const override { return "spool-submit"; }
    std::string script(const scheduler::JobRequest& request) const override;
    std::string submit(const std::string& script, const scheduler::JobRequest& request,
                       const Environment& environment) const override;
    std::string output_file(const scheduler::JobRequest& request, const std::string& number) const override;
    std::optional<std::vector<scheduler::QueuedJob>> queued(const std::vector<std::string>& numbers,
                                                            const Environment& environment) const override;
    std::vector<std::string> cancel_command(const std::string& number, bool gently) const override;
};

}  // namespace dtrain::tests
