// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/environment.hpp>
#include <dtrain/error.hpp>

#include "launch/backend/launch_backend.hpp"
#include "launch/plan/plan.hpp"
#include "scheduler/scheduler.hpp"

namespace dtrain::launch {

/// Makes this job's plans from the machine, the batch system and the files that the options name.
class Planner {
  public:
    /// Inspects these.
    /// @param environment environment of the job
    /// @param names_nodes_later the job's nodes are not provided by a batch system but named later
    /// @throws UsageError if the job cannot start: no Open MPI, no such interface
    Planner(Options options, const Environment& environment, bool names_nodes_later);

    /// The options, completed by the scheduler's job: its id, and the log folder in which %j is replaced.
    const Options& options() const { return options_; }

    /// Why the program cannot be started on this machine; its plans have none then.
    const std::optional<UsageError>& no_program() const { return no_program_; }

    /// @param joined the nodes that joined at --master
    /// @param attempt number of times that ports were planned
    Plan plan(const Options& options, const std::vector<JoinedNode>& joined = {}, int attempt = 1) const;

    /// Plans as if there were no other machine.
    Plan plan_of_this_machine(Options options) const;

    /// What this process may use of this machine.
    const topology::Machine& machine() const { return machine_; }

    const LaunchBackend& backend() const { return *backend_; }
    const PreparedBackend& prepared() const { return *prepared_; }
    /// How the ranks of the start with this token are controlled.
    RankControl control(const std::string& token) const;
    const std::optional<scheduler::Allocation>& allocation() const { return allocation_; }

  private:
    void ask_schedulers();
    void find_program();

    const Environment& environment_;
    Options options_;
    std::vector<std::string> program_;
    std::optional<UsageError> no_program_;
    std::vector<cluster::HostSlots> hostfile_;
    topology::Machine machine_;
    std::optional<scheduler::Allocation> allocation_;
    const scheduler::Scheduler* scheduler_ = nullptr;  ///< of the allocation
    std::string remote_shell_;
    const LaunchBackend* backend_ = nullptr;
    std::unique_ptr<PreparedBackend> prepared_;
};

}  // namespace dtrain::launch
