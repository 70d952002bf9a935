// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/backend/launch_backend.hpp"

namespace dtrain::launch {

/// Slurm's srun: the ranks are one step of the allocation.
class SrunBackend final : public LaunchBackend {
  public:
    std::string_view name() const override { return "srun"; }
    std::string_view node_daemon() const override { return "Slurm daemon"; }
    std::optional<std::string> obstacle(const BackendSite& site) const override;
    bool uses_schedulers_daemons() const override { return true; }
    std::unique_ptr<PreparedBackend> prepare(const BackendSite& site) const override;
    std::string hostfile(const Plan& plan) const override;
    Environment inherited(Environment environment) const override;

    /// srun kills its tasks on TERM, HUP or QUIT and keeps ALRM for itself; USR1 and USR2 would reach every
    /// process of the step, even without a handler. srun copies its stdin to all tasks.
    RankControl control(const std::string& job_id, const std::string& token) const override;
    std::vector<std::string> command_on_node(const Plan& plan, const std::string& host,
                                             const std::string& program) const override;
    std::string remedy_for_node(const std::string& host) const override;
    BackendDiagnosis diagnose(const std::string& messages) const override;
};

/// The name of a start's step in Slurm.
std::string step_name(const std::string& token);

}  // namespace dtrain::launch
