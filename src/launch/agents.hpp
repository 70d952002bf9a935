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
#include "launch/plan.hpp"
#include "launch/rendezvous_point.hpp"
#include "launch/watch.hpp"
#include "link/coordinator.hpp"

namespace dtrain::launch {

/// How long nodes wait for each other for --check: people may type the command on each.
inline constexpr std::chrono::milliseconds wait_for_check{15'000};

/// Node 0's side of a job on several nodes that all started dtrain-launch: waits for the others, lets mpirun
/// reach them without ssh, and tells them how the job ended.
class Agents {
  public:
    /// Of nodes that `plan` names.
    Agents(FileDescriptor listener, const RendezvousPoint& rendezvous, const Plan& plan,
           const Options& options, const Environment& environment);
    /// Of so many nodes that meet at --master.
    Agents(FileDescriptor listener, const RendezvousPoint& rendezvous, int count, const Options& options,
           const Environment& environment);
    Agents(const Agents&) = delete;
    Agents& operator=(const Agents&) = delete;

    /// When finish() was not called, the agents are told that the job failed.
    ~Agents();

    /// Launchers that cannot take part are only refused: they may belong to an earlier start. Nodes that do
    /// not come in time are absent().
    void let_strays_be() { strays_end_it_ = false; }
    const std::vector<int>& absent() const { return absent_; }

    /// Waits until every other node has its agent or, where the nodes are named, can be reached by ssh.
    /// @param must_leave asked often; true ends the waiting
    /// @returns whether all are there
    /// @throws UsageError when an agent was started in another way than this launcher, or naming the nodes
    /// that did not come in time
    bool gather(const std::function<bool()>& must_leave = [] { return false; });

    /// As gather(), for --check: ssh is tried at once, and nodes that nothing reaches are waited for a while
    /// only, and missed then.
    /// @throws UsageError when an agent was started in another way than this launcher
    void gather_for_check();

    /// Whether a node's launcher is here, so that its machine can be inspected without ssh.
    bool here(int node) const { return coordinator_->here(node); }
    /// Has such a node's machine inspected by what calls this one at that port.
    void inspect(int node, int port, const std::string& nonce);
    int fd() const { return coordinator_->reactor().fd(); }
    void serve() { coordinator_->reactor().serve(); }

    /// The nodes that joined at --master, in their order; nothing where they are named.
    /// @param own_part the plan of this machine alone
    std::vector<JoinedNode> joined(const Plan& own_part);

    /// Tells the agents their parts.
    /// @returns the plan with what they know of their machines
    Plan start(Plan plan);

    /// Variables that make mpirun come to the agents.
    /// @param remote_shell path of dtrain-rsh
    Environment for_mpirun(const std::string& remote_shell) const;

    /// What watch() has to look after while mpirun runs the job with this token.
    EventSource event_source(const std::string& job_token);

    /// Some nodes have no agent and are reached by ssh.
    bool any_by_ssh() const { return !by_ssh_.empty(); }

    /// Nodes whose agents went away in this run.
    std::set<std::size_t> lost_nodes() const;

    /// Has the agent of a node end a log of its folder with a line; false when the node has none.
    bool end_log(int node, const std::string& log, const std::string& line);

    void finish(int status, const std::string& text);

  private:
    using Admit = std::function<link::Admission(const link::JoinRequest&)>;

    void serve(FileDescriptor listener, Admit admit);
    std::string agent_socket() const;
    std::vector<int> missing() const;
    std::string names_of(const std::vector<int>& nodes) const;
    void accept_late(int node);
    link::Admission admit_at_master(const link::JoinRequest& request) const;
    std::optional<LostNode> first_lost() const;
    bool come_without(const std::vector<int>& absent, const std::string& complaint);
    [[noreturn]] void give_up(const std::string& text);

    const Options& options_;
    const Environment& environment_;
    RendezvousPoint rendezvous_;
    int count_;                       ///< of nodes
    std::vector<std::string> hosts_;  ///< of nodes; empty until they have joined
    bool named_;
    bool strays_end_it_ = true;
    std::vector<int> absent_;
    Plan plan_;
    TemporaryFolder folder_;
    std::unique_ptr<link::Coordinator> coordinator_;
    std::set<int> by_ssh_;  ///< nodes without an agent that ssh reaches
    bool started_ = false;
    bool reported_commands_ = false;  ///< that nodes have commands of their own
    bool finished_ = false;
};

}  // namespace dtrain::launch
