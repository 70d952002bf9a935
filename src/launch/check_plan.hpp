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

#include "launch/plan.hpp"

/// Who is asked by dtrain-launch --check, how, and who connects to whom. Pure.
namespace dtrain::launch {

/// The launchers that nodes have started themselves, which need no ssh.
struct CheckLaunchers {
    std::function<bool(int node)> here;
    std::function<void(int node, int port, const std::string& nonce)> inspect;
    int fd = -1;  ///< to be watched, with serve()
    std::function<void()> serve;
};

struct CheckSite {
    Plan plan;
    std::optional<CheckLaunchers> launchers;
    std::string program;                ///< dtrain-check, the same on all nodes
    std::chrono::milliseconds timeout;  ///< for nodes that do not answer
    Environment environment;
};

/// Where a node that cannot answer on stdout calls, and with which words.
struct CallBack {
    int port = 0;
    std::string nonce;
};

/// How a node is reached, for people: "here", "launcher", "ssh", "srun", "pbs_tmrsh".
std::string way_to(const CheckSite& site, int node);

/// The command that runs the program on a node.
/// @param coordinator this machine's address, for a node that calls back
std::vector<std::string> check_command(const CheckSite& site, int node, const std::string& coordinator,
                                       const CallBack& call_back);

/// The nodes that are asked at the same time: all, but not more than a machine can talk to.
std::vector<std::vector<int>> check_waves(int nodes);

/// Which others each of these nodes connects to; every pair in both directions. Up to 32 nodes all pairs; of
/// more, every node and the centre, and every node and the next two.
/// @param centre the node that all are compared with
/// @param all how many nodes the job has
std::map<int, std::vector<int>> probe_targets(const std::vector<int>& nodes, int centre, int all);

}  // namespace dtrain::launch
