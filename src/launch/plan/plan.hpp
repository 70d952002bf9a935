// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <dtrain/cluster.hpp>
#include <dtrain/environment.hpp>
#include <dtrain/topology.hpp>

#include "identity/endpoints.hpp"
#include "launch/options/options.hpp"
#include "launch/plan/mode.hpp"
#include "protocol/assignment.hpp"
#include "protocol/server_job.hpp"
#include "scheduler/allocation.hpp"

namespace dtrain::launch {

struct RankPlan {
    int rank = 0;  ///< MPI rank in the whole job
    cluster::Role role = cluster::Role::trainer;
    int index = 0;  ///< index within the role; equal to `rank` in collective jobs
    int local_rank = 0;
    std::string endpoint;
    std::vector<std::string> gpus;  ///< ids as shown to users: "4", "GPU-8932f937"; empty for a CPU rank
    cluster::RankAssignment assignment;
    std::string reason;  ///< why these processors were chosen
};

struct NodePlan {
    std::string host;
    std::string cuda_visible_devices;  ///< for the node's programs; "" without GPUs
    std::string log_dir;               ///< absolute, if the node has its own; "": Plan::log_dir
    std::string working_dir;           ///< likewise, Plan::working_dir
    std::vector<RankPlan> ranks;
};

/// The plan's warning if the other nodes are assumed to equal this one; removed once they have sent their own
/// info.
inline constexpr const char* others_are_alike = "the other nodes are taken to be like this one";

/// Everything that is decided before the job starts.
struct Plan {
    RunMode mode = RunMode::collective;
    std::string engine = "mpirun";  ///< name of the launch backend
    std::string job_id;
    std::vector<NodePlan> nodes;  ///< ranks are numbered node by node in collective jobs
    std::optional<int> own_node;  ///< index of this machine's node
    cluster::Endpoints endpoints;
    std::optional<cluster::ServerJob> servers;
    std::vector<std::string> program;     ///< argv of each rank
    std::string log_dir;                  ///< absolute
    std::string working_dir;              ///< absolute
    std::string remote_shell;             ///< remote shell with which mpirun reaches the other nodes; "": ssh
    bool followed = false;                ///< other nodes have launchers, with their own commands and folders
    bool nodes_place_themselves = false;  ///< their workers look up the GPUs and processors they were given
    bool bind = true;
    bool narrow = true;  ///< CUDA_VISIBLE_DEVICES is set to the selected GPUs
    /// If a scheduler's daemons start the ranks: how many GPUs it shows on each node, and the indices among
    /// them of those that this job uses; empty: all.
    int gpus_of_node = 0;
    std::vector<int> selected_positions;
    bool free_ports = false;  ///< chosen by dtrain: others are used if one is taken
    std::vector<std::string> warnings;

    int size() const;
    /// The hosts of the nodes, in node rank order.
    std::vector<std::string> hosts() const;
    /// All ranks in rank order.
    std::vector<const RankPlan*> ranks() const;
    /// The node of each rank.
    std::vector<int> nodes_of_ranks() const;
    bool is_numbered_by_node() const;
};

/// Provides ports of this machine.
struct PortSource {
    std::function<std::vector<int>(int count)> any;              ///< `count` free ports
    std::function<void(const std::vector<int>& ports)> exactly;  ///< throws PortTaken if one is taken
};

/// A node that joined at --master.
struct JoinedNode {
    std::string host;
    int ranks = 0;
    int servers = 0;  ///< servers among its ranks in a parameter-server job; the others are workers
    friend bool operator==(const JoinedNode&, const JoinedNode&) = default;
};

struct PlanInput {
    Options options;
    Environment environment;
    topology::Machine
        machine;  ///< limited to the processors this job may use; other nodes are assumed to be alike
    std::vector<std::string> program;
    std::string log_dir;
    std::string working_dir;
    std::vector<cluster::HostSlots> hostfile;  ///< content of --hostfile
    std::optional<scheduler::Allocation>
        allocation;                      ///< whose nodes are used; not given: those of the options
    std::string engine = "mpirun";       ///< name of the launch backend
    bool by_schedulers_daemons = false;  ///< these start the ranks, see LaunchBackend
    std::string remote_shell;            ///< the scheduler's remote shell, for mpirun; "": ssh
    std::vector<JoinedNode> joined;      ///< the nodes that joined at --master, this one first
    std::set<std::string> own_addresses;
    PortSource ports;
    int attempt = 1;  ///< number of the plan for this job; each gets other ports, if dtrain chooses them
};

/// Plans a job. Pure except for `input.ports`.
/// @throws UsageError naming the option that cannot be satisfied, and the remedy.
Plan make_plan(const PlanInput& input);

/// The plan for people: a table of ranks, then the command.
std::string to_table(const Plan& plan, const std::vector<std::string>& command);

/// The plan for programs: one JSON object.
std::string to_json(const Plan& plan, const std::vector<std::string>& command, const Environment& added);

}  // namespace dtrain::launch
