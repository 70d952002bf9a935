// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/environment.hpp>

#include "base/interfaces.hpp"

/// The network between a job's nodes.
namespace dtrain::launch {

/// Queries about this machine's networks.
struct NetworkQuestions {
    std::vector<Interface> interfaces;
    std::function<std::vector<std::string>(const std::string& host)> addresses_of;
    std::function<std::optional<std::string>(const std::string& host)> own_address_towards;

    /// Looks each host up once, as a job may have thousands.
    static NetworkQuestions of_this_machine();
};

/// @throws UsageError listing the interfaces if this machine has no interface of that name.
void check_network_interface(const std::string& name, const std::vector<Interface>& interfaces);

/// Variables that restrict Open MPI 4.1 and 5.0 to the nodes' network, if that is a single network: by
/// default they also try interfaces that have the same address on each node, and block. Empty for a job on
/// one node, on a machine with one network, and for variables that `environment` sets already.
/// @param named --network_interface; else the interface that the kernel uses to reach the other nodes
Environment mpi_network_variables(const std::vector<std::string>& hosts,
                                  const std::optional<std::string>& named, const Environment& environment,
                                  const NetworkQuestions& machine);

/// Keeps Open MPI's ranks to IPv4 where every node has it: Open MPI 5.0 with IPv6 pairs addresses of both
/// families, and says of each rank that it "is unable to find reachable pairing between local and remote
/// interfaces" (its issue 14079). Empty if `environment` says which.
Environment mpi_address_family(const std::vector<std::string>& hosts, const Environment& environment,
                               const NetworkQuestions& machine);

}  // namespace dtrain::launch
