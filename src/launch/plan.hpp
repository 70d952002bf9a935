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

#include "cluster/allocation.hpp"
#include "cluster/assignment.hpp"
#include "launch/engine.hpp"
#include "launch/mode.hpp"
#include "launch/options.hpp"

namespace dtrain::launch {

struct RankPlan {
    int rank = 0;  ///< of the whole job, as MPI numbers it
    cluster::Role role = cluster::Role::trainer;
    int index = 0;  ///< within the role: the rank itself in collective jobs
    int local_rank = 0;
    std::string endpoint;
    std::vector<std::string> gpus;  ///< ids as users know them: "4", "GPU-8932f937"; empty for a CPU rank
    cluster::RankAssignment assignment;
    std::string reason;  ///< why these processors
};

struct NodePlan {
    std::string host;
    std::string cuda_visible_devices;  ///< what the node's programs may see; "" without GPUs
    std::string log_dir;               ///< absolute, where it is the node's own; "": as Plan::log_dir
    std::string working_dir;           ///< likewise
    std::vector<RankPlan> ranks;
};

/// The plan's warning where one machine stands for all; out of place once the others have told what they
/// have.
inline constexpr const char* others_are_alike = "the other nodes are taken to be like this one";

/// Everything that is decided before anything starts.
struct Plan {
    RunMode mode = RunMode::collective;
    Engine engine = Engine::mpirun;
    std::string job_id;
    std::vector<NodePlan> nodes;  ///< ranks are numbered node by node in collective jobs
    std::optional<int> own_node;  ///< which node this machine is
    cluster::Endpoints endpoints;
    std::optional<cluster::ServerJob> servers;
    std::vector<std::string> program;  ///< argv of each rank
    std::string log_dir;               ///< absolute
    std::string working_dir;           ///< absolute
    std::string remote_shell;          ///< that reaches the other nodes for mpirun; "": ssh
    bool followed = false;             ///< other nodes have launchers, with commands and folders of their own
    bool nodes_place_themselves = false;  ///< their workers find the GPUs and processors they were given
    bool bind = true;
    bool narrow = true;  ///< CUDA_VISIBLE_DEVICES is set to the selected GPUs
    /// Under srun: how many GPUs Slurm shows on each node, and which of them by position this job uses;
    /// empty: all.
    int gpus_of_node = 0;
    std::vector<int> selected_positions;
    bool free_ports = false;  ///< chosen by dtrain: when one is taken, others will do
    std::vector<std::string> warnings;

    int size() const;
    /// The nodes' names, in node rank order.
    std::vector<std::string> hosts() const;
    /// All ranks in rank order.
    std::vector<const RankPlan*> ranks() const;
    /// The node of each rank.
    std::vector<int> nodes_of_ranks() const;
};

/// The ports of this machine.
struct PortSource {
    std::function<std::vector<int>(int count)> any;              ///< so many free ones
    std::function<void(const std::vector<int>& ports)> exactly;  ///< throws PortTaken
};

/// A node that came to --master.
struct JoinedNode {
    std::string host;
    int ranks = 0;
    int servers = 0;  ///< of its ranks, in a parameter-server job; the others are workers
    friend bool operator==(const JoinedNode&, const JoinedNode&) = default;
};

struct PlanInput {
    Options options;
    Environment environment;
    topology::Machine
        machine;  ///< limited to the processors this job may use; other nodes are taken to be alike
    std::vector<std::string> program;
    std::string log_dir;
    std::string working_dir;
    std::vector<cluster::HostSlots> hostfile;       ///< content of --hostfile
    std::optional<cluster::Allocation> allocation;  ///< whose nodes are used; not given: those of the options
    Engine engine = Engine::mpirun;
    std::string remote_shell;        ///< of the scheduler, for mpirun; "": ssh
    std::vector<JoinedNode> joined;  ///< those that came to --master, this one first
    std::set<std::string> own_addresses;
    PortSource ports;
    int attempt = 1;  ///< counts plans for the same job: another one has other ports where dtrain chose them
};

/// Plans a job. Pure but for the ports it is given.
/// @throws UsageError naming the option that cannot be done, and how.
Plan make_plan(const PlanInput& input);

/// What stands in the hostfile that the plan's engine reads.
std::string hostfile_text(const Plan& plan);

/// Plan for people: a table of ranks, then the command.
std::string to_table(const Plan& plan, const std::vector<std::string>& command);

/// Plan for programs: one JSON object.
std::string to_json(const Plan& plan, const std::vector<std::string>& command, const Environment& added);

}  // namespace dtrain::launch
