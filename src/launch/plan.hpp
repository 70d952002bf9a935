// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <dtrain/cluster.hpp>
#include <dtrain/environment.hpp>
#include <dtrain/topology.hpp>

#include "cluster/assignment.hpp"
#include "launch/options.hpp"

namespace dtrain::launch {

struct RankPlan {
    int rank = 0;
    int local_rank = 0;
    std::vector<std::string> gpus;  ///< ids as users know them: "4", "GPU-8932f937"; empty for a CPU rank
    cluster::RankAssignment assignment;
    std::string reason;  ///< why these processors
};

struct NodePlan {
    std::string host;
    std::string cuda_visible_devices;  ///< what the node's programs see; "" without GPUs
    std::vector<RankPlan> ranks;
};

/// Everything that is decided before anything starts.
struct Plan {
    std::string job_id;
    std::vector<NodePlan> nodes;
    cluster::Endpoints endpoints;
    std::vector<std::string> program;  ///< argv of each rank
    std::string log_dir;               ///< absolute
    bool bind = true;
    std::vector<std::string> warnings;

    int size() const;
};

struct PlanInput {
    Options options;
    Environment environment;
    topology::Machine machine;  ///< limited to the processors this job may use
    std::vector<std::string> program;
    std::string log_dir;
    std::function<std::vector<int>(int count)> ports;  ///< free ports of this node
};

/// The devices of each rank of a node: `ids` dealt out one by one, or in contiguous even parts to
/// `processes`; without devices `processes` CPU ranks (default one). Pure.
/// @throws UsageError when processes do not divide the devices.
std::vector<std::vector<topology::VisibleGpu>> deal_devices(const std::vector<topology::VisibleGpu>& devices,
                                                            std::optional<int> processes);

/// The devices that --gpus selects, physical ids, checked against what CUDA_VISIBLE_DEVICES leaves visible.
/// @throws UsageError naming the id that is not there and those that are.
std::vector<topology::VisibleGpu> select_gpus(const std::string& gpus,
                                              const std::vector<topology::VisibleGpu>& visible);

/// Plans a job on this node. Pure but for the ports it is given.
Plan make_plan(const PlanInput& input);

/// Plan for people: a table of ranks, then the command.
std::string to_table(const Plan& plan, const std::vector<std::string>& command);

/// Plan for programs: one JSON object.
std::string to_json(const Plan& plan, const std::vector<std::string>& command, const Environment& added);

}  // namespace dtrain::launch
