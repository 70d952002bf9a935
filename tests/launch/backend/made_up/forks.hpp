// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/backend/launch_backend.hpp"

namespace dtrain::tests {

/// A launch backend that dtrain does not have: a shell that starts all ranks on this machine, without MPI.
class Forks final : public launch::LaunchBackend {
  public:
    std::string_view name() const override { return "forks"; }
    std::string_view node_daemon() const override { return "shell"; }
    std::optional<std::string> obstacle(const launch::BackendSite& site) const override;
    bool uses_schedulers_daemons() const override { return false; }
    std::unique_ptr<launch::PreparedBackend> prepare(const launch::BackendSite& site) const override;
    std::string hostfile(const launch::Plan& plan) const override;
    launch::RankControl control(const std::string& job_id, const std::string& token) const override;
    launch::BackendDiagnosis diagnose(const std::string& messages) const override;
};

}  // namespace dtrain::tests
