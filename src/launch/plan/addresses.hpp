// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <dtrain/cluster.hpp>

#include "identity/endpoints.hpp"
#include "identity/paddle_cloud.hpp"
#include "launch/plan/members.hpp"
#include "launch/plan/nodes.hpp"
#include "launch/plan/plan.hpp"
#include "protocol/server_job.hpp"

/// Addresses of the ranks of a job, and how their ports are chosen.
namespace dtrain::launch {

/// Whether a host is this machine: equal to --host if given, else one of this machine's addresses.
bool is_own_host(const PlanInput& input, const std::string& host);

struct CollectiveAddresses {
    cluster::Endpoints endpoints;
    bool free_ports = false;  ///< chosen here: any other free ports will do
};

/// The ports are, in this order: those of PaddleCloud; consecutive ones from --start_port or, on several
/// nodes, from a hash of job and nodes that every node computes alike; else free ones. Ports of this machine
/// that were not just found to be free are checked.
CollectiveAddresses collective_addresses(const PlanInput& input, const Nodes& nodes,
                                         const std::optional<cluster::PaddleCloud>& cloud,
                                         const std::vector<int>& ranks_of_node);

/// For nodes that joined at --master: consecutive ports on each host, even if one host is several nodes.
cluster::Endpoints joined_endpoints(const PlanInput& input);

struct ServerJobAddresses {
    cluster::ServerJob job;
    cluster::Endpoints endpoints;
    bool free_ports = false;
};

/// The ports in `members`, or free ones for the members of a job on one machine. The rendezvous points are on
/// the first server's host, on ports above all others.
ServerJobAddresses server_job_addresses(const PlanInput& input, ServerJobMembers members);

}  // namespace dtrain::launch
