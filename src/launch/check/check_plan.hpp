// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/environment.hpp>

#include "launch/plan/plan.hpp"

/// Which nodes dtrain-launch --check inspects, how, and which nodes connect to each other. Pure.
namespace dtrain::launch {

/// The launchers that the nodes started themselves; they need no ssh.
struct CheckLaunchers {
    std::function<bool(int node)> is_connected;
    std::function<void(int node, int port, const std::string& nonce)> inspect;
    int fd = -1;  ///< descriptor to poll; serve() handles its events
    std::function<void()> serve;
};

struct CheckSite {
    Plan plan;
    std::optional<CheckLaunchers> launchers;
    std::string program;                ///< dtrain-check, the same on all nodes
    std::chrono::milliseconds timeout;  ///< for nodes that do not answer
    Environment environment;
};

/// Where a node that cannot answer on stdout connects, and with which nonce.
struct CallBack {
    int port = 0;
    std::string nonce;
};

/// How a node is reached, as shown to people: "here", "launcher", "ssh", "pbs_tmrsh", or by a launch
/// backend: "srun".
std::string way_to(const CheckSite& site, int node);

/// The command that runs the program on a node.
/// @param coordinator this machine's address, for a node that calls back
std::vector<std::string> check_command(const CheckSite& site, int node, const std::string& coordinator,
                                       const CallBack& call_back);

/// The groups of nodes that are inspected at the same time: all nodes, but no more per group than one machine
/// can handle.
std::vector<std::vector<int>> check_waves(int nodes);

/// The nodes that each of these nodes connects to; every pair in both directions. With up to 32 nodes all
/// pairs; with more, every node and the centre, and every node and the next two.
/// @param centre the node that all others are compared with
/// @param all number of nodes of the job
std::map<int, std::vector<int>> probe_targets(const std::vector<int>& nodes, int centre, int all);

}  // namespace dtrain::launch
