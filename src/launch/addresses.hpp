// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <dtrain/cluster.hpp>

#include "launch/members.hpp"
#include "launch/nodes.hpp"
#include "launch/plan.hpp"

/// Where the ranks of a job can be reached: which ports they get.
namespace dtrain::launch {

/// Whether a host is this machine: --host when given, else one of its own addresses.
bool is_own_host(const PlanInput& input, const std::string& host);

struct CollectiveAddresses {
    cluster::Endpoints endpoints;
    bool free_ports = false;  ///< chosen here: others will do as well
};

/// PaddleCloud's ports; consecutive ones from --start_port or, on several nodes, from a hash of job and nodes
/// that each computes alike; else free ones. Ports of this machine that were not just found free are proven.
CollectiveAddresses collective_addresses(const PlanInput& input, const Nodes& nodes,
                                         const std::optional<cluster::PaddleCloud>& cloud,
                                         const std::vector<int>& ranks_of_node);

/// Of nodes that joined at --master: consecutive ports on each host, also where one host is several nodes.
cluster::Endpoints joined_endpoints(const PlanInput& input);

struct ServerJobAddresses {
    cluster::ServerJob job;
    cluster::Endpoints endpoints;
    bool free_ports = false;
};

/// The ports that `places` have, or free ones for members of a job on one machine; the rendezvous points are
/// on the first server's host, behind all other ports.
ServerJobAddresses server_job_addresses(const PlanInput& input, ServerJobPlaces places);

}  // namespace dtrain::launch
