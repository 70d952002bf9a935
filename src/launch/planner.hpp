// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <dtrain/environment.hpp>

#include "launch/plan.hpp"
#include "launch/srun_probe.hpp"

namespace dtrain::launch {

/// Makes this job's plans from the machine, the batch system and the files that the options name.
class Planner {
  public:
    /// Inspects these, and completes `options` with the batch system's info.
    /// @param environment environment of the job
    /// @param names_nodes_later the job's nodes are not provided by a batch system but named later
    /// @throws UsageError if the job cannot start: no Open MPI, no such script, no such interface
    Planner(Options& options, const Environment& environment, bool names_nodes_later);

    /// @param joined the nodes that joined at --master
    /// @param attempt number of times that ports were planned
    Plan plan(const Options& options, const std::vector<JoinedNode>& joined = {}, int attempt = 1) const;

    /// Plans as if there were no other machine.
    Plan plan_of_this_machine(Options options) const;

    Engine engine() const { return engine_; }
    const std::optional<cluster::Allocation>& allocation() const { return allocation_; }
    const SrunSite& srun_site() const { return srun_site_; }

  private:
    void ask_batch_system(Options& options);

    const Environment& environment_;
    std::vector<std::string> program_;
    std::vector<cluster::HostSlots> hostfile_;
    topology::Machine machine_;
    std::optional<cluster::Allocation> allocation_;
    std::string remote_shell_;
    Engine engine_ = Engine::mpirun;
    SrunSite srun_site_;
};

}  // namespace dtrain::launch
