// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <dtrain/environment.hpp>

namespace dtrain::cluster {

/// The variables that a PaddleCloud (Kubernetes) platform sets for the launcher on each node.
struct PaddleCloud {
    std::vector<std::string> nodes = {};  ///< PADDLE_TRAINERS: addresses, in node rank order
    std::string pod_ip = {};              ///< POD_IP: this node's own address
    int node_rank = 0;                    ///< PADDLE_TRAINER_ID, which is the index of the node here
    int ports_per_node = 0;               ///< TRAINER_PORTS_NUM
    std::optional<int> first_port = {};   ///< PADDLE_PORT
    /// DISTRIBUTED_TRAINER_ENDPOINTS, ports_per_node for each node; or empty
    std::vector<std::string> endpoints = {};
    friend bool operator==(const PaddleCloud&, const PaddleCloud&) = default;
};

/// None unless PADDLE_TRAINERS, POD_IP, PADDLE_TRAINER_ID and TRAINER_PORTS_NUM are all set and
/// PADDLE_TRAINERS_NUM is set to other than 1, which is Paddle's own condition.
/// @throws UsageError naming the variable that contradicts the others.
std::optional<PaddleCloud> paddle_cloud(const Environment& environment);

/// "host:port" of every rank, node by node: the platform's endpoints, else its port, or port 6170 if it gives
/// none or too few ports.
/// @throws UsageError if the platform has fewer endpoints than `ranks_per_node` on a node.
std::vector<std::string> cloud_endpoints(const PaddleCloud& cloud, int ranks_per_node);

}  // namespace dtrain::cluster
