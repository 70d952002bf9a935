// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/environment.hpp>

#include "launch/backend/diagnosis.hpp"
#include "launch/backend/rank_control.hpp"
#include "launch/plan/plan.hpp"

namespace dtrain::launch {

/// Where a job's ranks are to be started.
struct BackendSite {
    const Environment& environment;
    std::optional<scheduler::Allocation>& allocation;  ///< prepare() may complete it
    std::string_view scheduler;                        ///< name of the allocation's scheduler; "" without one
};

/// One start of a job's ranks.
struct BackendCall {
    const Plan& plan;
    const Options& options;
    std::string hostfile;              ///< path of the written hostfile
    std::string worker;                ///< path of dtrain-worker
    std::string remote_shell;          ///< path of dtrain-rsh
    std::string token;                 ///< identifies all processes of this start
    std::vector<std::string> carried;  ///< names of variables to pass to the ranks of other nodes
};

/// What a backend has found out about one site, and what follows from it.
class PreparedBackend {
  public:
    PreparedBackend() = default;
    PreparedBackend(const PreparedBackend&) = delete;
    PreparedBackend& operator=(const PreparedBackend&) = delete;
    virtual ~PreparedBackend() = default;

    /// Waits for the answers of programs that prepare() has started.
    /// @throws UsageError if the backend cannot start anything here
    virtual void finish() {}

    /// argv of the process that runs `worker -- program` on every rank of the plan. Pure.
    virtual std::vector<std::string> command(const BackendCall& call) const = 0;

    /// Whether what a rank writes on one of its streams may come out on the other one.
    virtual bool mixes_streams() const { return false; }
};

/// What starts the ranks of a job, forwards their output and their events, and passes on commands. Objects
/// keep no state; registry.hpp has one of each. Another backend is a class derived from this one in a folder
/// of its own, a line in registry.cpp and its name in options/backend_names.cpp.
class LaunchBackend {
  public:
    LaunchBackend() = default;
    LaunchBackend(const LaunchBackend&) = delete;
    LaunchBackend& operator=(const LaunchBackend&) = delete;
    virtual ~LaunchBackend() = default;

    /// Value of --engine: "mpirun".
    virtual std::string_view name() const = 0;

    /// What runs on each node and vanishes with it, for reports: "MPI daemon".
    virtual std::string_view node_daemon() const = 0;

    /// Why it cannot be used here; nothing if it can, or if prepare() finds that out.
    virtual std::optional<std::string> obstacle(const BackendSite& site) const = 0;

    /// Whether a scheduler's daemons start the ranks, on the scheduler's nodes only. Then nodes place their
    /// ranks themselves, this machine need not be one of them, and a lost node is noticed by its missing
    /// heartbeats; else MPI's own daemons start them, which notice a lost node.
    virtual bool uses_schedulers_daemons() const = 0;

    /// Whether every node needs mpirun's installation in the PATH of a command that comes over the network.
    virtual bool needs_mpirun() const { return false; }

    /// Inspects the machine.
    /// @throws UsageError if the backend cannot start anything here
    virtual std::unique_ptr<PreparedBackend> prepare(const BackendSite& site) const = 0;

    /// The nodes' names in its messages. Pure.
    virtual std::vector<std::string> node_names(const Plan& plan) const { return plan.hosts(); }

    /// Content of the hostfile. Pure.
    virtual std::string hostfile(const Plan& plan) const = 0;

    /// `environment` without the variables that would change its command. Pure.
    virtual Environment inherited(Environment environment) const { return environment; }

    virtual RankControl control(const std::string& job_id, const std::string& token) const = 0;

    /// The command that runs a program on one node of the plan; empty if nodes are reached by a remote shell.
    virtual std::vector<std::string> command_on_node(const Plan& /*plan*/, const std::string& /*host*/,
                                                     const std::string& /*program*/) const {
        return {};
    }

    /// What to do about a node on which command_on_node() fails.
    virtual std::string remedy_for_node(const std::string& /*host*/) const { return {}; }

    /// Parses its messages. Pure.
    virtual BackendDiagnosis diagnose(const std::string& messages) const = 0;
};

}  // namespace dtrain::launch
