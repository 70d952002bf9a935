// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <dtrain/cpuset.hpp>
#include <dtrain/environment.hpp>

namespace dtrain::cluster {

/// The resources of its node that are assigned to a rank.
struct RankAssignment {
    CpuSet cpus;
    std::vector<int> numa_nodes;
    std::vector<int> devices;  ///< indices into the list of visible devices
    int threads = 1;
    bool shared = false;  ///< other ranks run on the same processors
    std::string adapter;
    friend bool operator==(const RankAssignment&, const RankAssignment&) = default;
};

/// Passes the assignments of all nodes' ranks, in local rank order, to the workers: DTRAIN_CPUS and related
/// variables, one field per rank, separated by ';', joined by join_node_fields. The workers then need not
/// inspect the machine again.
void write_assignments(Environment& environment, const std::vector<std::vector<RankAssignment>>& nodes);

/// The assignments of a node's ranks; nothing if no launcher assigned anything.
/// @throws UsageError naming the variable that does not match the others.
std::optional<std::vector<RankAssignment>> read_assignments(const Environment& environment, int node);

/// The devices alone (DTRAIN_GPUS), if the launcher leaves the assignment of processors to a node's workers;
/// nothing if it did not assign devices either.
std::optional<std::vector<std::vector<int>>> read_devices(const Environment& environment, int node);

}  // namespace dtrain::cluster
