// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dtrain::cluster {

/// First port of a job that could not ask the nodes for free ones: a hash of the job id in 10000..29999,
/// below the kernel's ephemeral range, with room for `count` ports.
/// @throws UsageError if `count` is not in 0..10000.
int base_port(std::string_view job_id, int count);

/// The addresses of a job's ranks and its rendezvous addresses.
struct Endpoints {
    std::vector<std::string> trainers = {};  ///< "host:port", by rank
    std::string paddle_master = {};          ///< "host:port" of rank 0's store, PADDLE_MASTER
    std::string master_addr = {};            ///< MASTER_ADDR of torch
    int master_port = 0;                     ///< MASTER_PORT of torch
    friend bool operator==(const Endpoints&, const Endpoints&) = default;
};

/// Endpoints for ranks that are numbered node by node: `first_port` + local rank on each node; the two
/// rendezvous ports follow those of node 0.
/// @throws UsageError if the lists differ in length or a port would exceed 65535.
Endpoints consecutive_endpoints(const std::vector<std::string>& hosts, const std::vector<int>& ranks_of_node,
                                int first_port);

}  // namespace dtrain::cluster
