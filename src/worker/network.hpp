// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <dtrain/cluster.hpp>
#include <dtrain/environment.hpp>

namespace dtrain::worker {

/// The host used as the destination of route lookups: the first node, or on the first node the second.
/// Nothing if the job has only one node.
std::optional<std::string> other_node(const cluster::Identity& identity);

/// Sets NCCL's and Gloo's network interface, unless the user has, to the one that leads to the other nodes.
/// On their own they may choose a local one, such as a container bridge.
/// @param interface_towards returns the interface to use for a host
void name_network_interface(
    Environment& variables, const cluster::Identity& identity,
    const std::function<std::optional<std::string>(const std::string& host)>& interface_towards);

/// The interface that the kernel routes to this host through; used as `interface_towards`.
std::optional<std::string> routed_interface(const std::string& host);

}  // namespace dtrain::worker
