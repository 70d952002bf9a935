// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/backend/launch_backend.hpp"

namespace dtrain::launch {

/// Open MPI's mpirun, whose daemons are started by ssh, a scheduler's remote shell or dtrain's own launchers.
class MpirunBackend final : public LaunchBackend {
  public:
    std::string_view name() const override { return "mpirun"; }
    std::string_view node_daemon() const override { return "MPI daemon"; }
    std::optional<std::string> obstacle(const BackendSite&) const override { return std::nullopt; }
    bool uses_schedulers_daemons() const override { return false; }
    bool needs_mpirun() const override { return true; }

    /// @throws UsageError if there is no mpirun in PATH; finish() throws if it is not Open MPI's
    std::unique_ptr<PreparedBackend> prepare(const BackendSite& site) const override;
    std::vector<std::string> node_names(const Plan& plan) const override;
    std::string hostfile(const Plan& plan) const override;

    /// mpirun forwards SIGALRM, USR1 and USR2 within milliseconds, and kills its ranks if told to end.
    RankControl control(const std::string& job_id, const std::string& token) const override;
    BackendDiagnosis diagnose(const std::string& messages) const override;
};

}  // namespace dtrain::launch
