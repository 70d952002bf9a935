// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/environment.hpp>

#include "base/interfaces.hpp"

/// The network that a job's nodes talk over.
namespace dtrain::launch {

/// What is asked of this machine about networks.
struct NetworkQuestions {
    std::vector<Interface> interfaces;
    std::function<std::vector<std::string>(const std::string& host)> addresses_of;
    std::function<std::optional<std::string>(const std::string& host)> own_address_towards;

    static NetworkQuestions of_this_machine();
};

/// @throws UsageError listing the interfaces when this machine has no such one.
void check_network_interface(const std::string& name, const std::vector<Interface>& interfaces);

/// Keeps Open MPI 4.1 and 5.0 to the network of the nodes, where that is one network: by themselves they also
/// try interfaces that have the same address on each node, and wait. Nothing for a job on one node, on a
/// machine with one network, and for what `environment` sets already.
/// @param named --network_interface; else the one that the kernel would use for the other nodes
Environment mpi_network_variables(const std::vector<std::string>& hosts,
                                  const std::optional<std::string>& named, const Environment& environment,
                                  const NetworkQuestions& machine);

}  // namespace dtrain::launch
