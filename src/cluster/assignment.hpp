// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <dtrain/cpuset.hpp>
#include <dtrain/environment.hpp>

namespace dtrain::cluster {

/// What a rank got of its node.
struct RankAssignment {
    CpuSet cpus;
    std::vector<int> numa_nodes;
    std::vector<int> devices;  ///< positions in the visible list
    int threads = 1;
    bool shared = false;  ///< other ranks run on the same processors
    std::string adapter;
    friend bool operator==(const RankAssignment&, const RankAssignment&) = default;
};

/// Hands the assignments of all nodes' ranks, in local rank order, to the workers: DTRAIN_CPUS and the
/// variables that go with it, one field per rank, separated by ';', joined by join_node_fields. Workers then
/// need not look at the machine again.
void write_assignments(Environment& environment, const std::vector<std::vector<RankAssignment>>& nodes);

/// What a node's ranks got; nothing when no launcher assigned anything.
/// @throws UsageError naming the variable that does not fit the others.
std::optional<std::vector<RankAssignment>> read_assignments(const Environment& environment, int node);

/// The devices alone (DTRAIN_GPUS), where the launcher has left a node's processors to its workers; nothing
/// when it has not told devices either.
std::optional<std::vector<std::vector<int>>> read_devices(const Environment& environment, int node);

}  // namespace dtrain::cluster
