// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <dtrain/environment.hpp>

#include "base/files.hpp"
#include "base/temporary_folder.hpp"
#include "launch/plan/plan.hpp"
#include "launch/plan/rendezvous_point.hpp"
#include "launch/supervise/watch.hpp"
#include "transport/coordinator.hpp"

namespace dtrain::launch {

/// How long nodes wait for each other for --check: people may type the command on each node.
inline constexpr std::chrono::milliseconds wait_for_check{15'000};

/// The coordinator's (node 0's) side of a job whose nodes all started dtrain-launch: waits for the agents,
/// lets mpirun reach them without ssh, and reports to them how the job ended.
class Agents {
  public:
    /// For nodes that `plan` names.
    Agents(FileDescriptor listener, const RendezvousPoint& rendezvous, const Plan& plan,
           const Options& options, const Environment& environment);
    /// For `count` nodes that meet at --master.
    Agents(FileDescriptor listener, const RendezvousPoint& rendezvous, int count, const Options& options,
           const Environment& environment);
    Agents(const Agents&) = delete;
    Agents& operator=(const Agents&) = delete;

    /// If finish() was not called, reports to the agents that the job failed.
    ~Agents();

    /// Launchers that cannot take part are refused without ending the job: they may belong to an earlier
    /// start. Nodes that do not join in time are absent().
    void ignore_refused_launchers() { refusals_are_fatal_ = false; }
    const std::vector<int>& absent() const { return absent_; }

    /// Waits until every other node has its agent or, if the nodes are named, can be reached by ssh.
    /// @param must_leave polled; true ends the wait
    /// @returns whether all nodes are there
    /// @throws UsageError if an agent was started in another way than this launcher; names the nodes that did
    /// not join in time
    bool gather(const std::function<bool()>& must_leave = [] { return false; });

    /// Like gather(), for --check: tries ssh at once, and waits for unreachable nodes only for a limited
    /// time, after which they are missing.
    /// @throws UsageError if an agent was started in another way than this launcher
    void gather_for_check();

    /// Whether a node's launcher has joined, so that its machine can be inspected without ssh.
    bool is_connected(int node) const { return coordinator_->is_connected(node); }
    /// Asks such a node to run an inspection, whose program connects to this machine at `port`.
    void inspect(int node, int port, const std::string& nonce);
    int fd() const { return coordinator_->reactor().fd(); }
    void serve() { coordinator_->reactor().serve(); }

    /// The nodes that joined at --master, in node order; empty if the nodes are named.
    /// @param own_part plan of this machine alone
    std::vector<JoinedNode> joined(const Plan& own_part);

    /// Sends each agent its part of the plan.
    /// @returns the plan with the agents' info about their machines
    Plan start(Plan plan);

    /// Variables that make mpirun use the agents to reach their nodes.
    /// @param remote_shell path of dtrain-rsh
    Environment for_mpirun(const std::string& remote_shell) const;

    /// Event source for watch() while mpirun runs the job with this token.
    EventSource event_source(const std::string& job_token);

    /// Whether some nodes have no agent and are reached by ssh.
    bool any_by_ssh() const { return !by_ssh_.empty(); }

    /// Nodes whose agents disconnected in this run.
    std::set<std::size_t> lost_nodes() const;

    /// Asks the agent of a node to append a last line to a log in its folder; false if the node has no agent.
    bool end_log(int node, const std::string& log, const std::string& line);

    void finish(int status, const std::string& text);

  private:
    using Admit = std::function<transport::Admission(const transport::JoinRequest&)>;

    void serve(FileDescriptor listener, Admit admit);
    std::string remote_shell_socket() const;
    std::vector<int> missing() const;
    std::string names_of(const std::vector<int>& nodes) const;
    void accept_late(int node);
    transport::Admission admit_at_master(const transport::JoinRequest& request) const;
    std::optional<LostNode> first_lost() const;
    bool start_without(const std::vector<int>& absent, const std::string& complaint);
    [[noreturn]] void give_up(const std::string& text);

    const Options& options_;
    const Environment& environment_;
    RendezvousPoint rendezvous_;
    int count_;                       ///< nodes
    std::vector<std::string> hosts_;  ///< by node; empty until the nodes have joined
    bool named_;
    bool refusals_are_fatal_ = true;
    std::vector<int> absent_;
    Plan plan_;
    TemporaryFolder folder_;
    std::unique_ptr<transport::Coordinator> coordinator_;
    std::set<int> by_ssh_;  ///< nodes without an agent that ssh reaches
    bool started_ = false;
    bool reported_commands_ = false;  ///< that nodes run their own commands
    bool finished_ = false;
};

}  // namespace dtrain::launch
