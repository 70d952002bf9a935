// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <dtrain/cluster.hpp>
#include <dtrain/environment.hpp>

namespace dtrain::worker {

/// The node that this one asks the way to: the first, and on that the second; nothing in a job on one node.
std::optional<std::string> other_node(const cluster::Identity& identity);

/// Tells NCCL and Gloo, where the user has not, which interface leads to the other nodes: by themselves they
/// may choose one that only this machine has, such as a bridge for containers.
/// @param interface_towards the interface to use for a host
void name_network_interface(
    Environment& variables, const cluster::Identity& identity,
    const std::function<std::optional<std::string>(const std::string& host)>& interface_towards);

/// The real one.
std::optional<std::string> routed_interface(const std::string& host);

}  // namespace dtrain::worker
