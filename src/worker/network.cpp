// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/network.hpp"

#include <array>

#include "base/interfaces.hpp"

namespace dtrain::worker {

std::optional<std::string> other_node(const cluster::Identity& identity) {
    if (identity.nodes < 2 || identity.hosts.size() < 2) return std::nullopt;
    return identity.hosts[identity.node_rank == 0 ? 1 : 0];
}

void name_network_interface(
    Environment& variables, const cluster::Identity& identity,
    const std::function<std::optional<std::string>(const std::string& host)>& interface_towards) {
    const auto other = other_node(identity);
    if (!other) return;
    const auto interface = interface_towards(*other);
    if (!interface) return;
    constexpr std::array names{"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"};
    for (const char* name : names)
        if (!variables.has(name)) variables.set(name, *interface);
}

std::optional<std::string> routed_interface(const std::string& host) {
    const auto own = own_address_towards(host);
    const auto found = own ? interface_with(interfaces(), *own) : std::nullopt;
    if (!found || found->loopback) return std::nullopt;
    return found->name;
}

}  // namespace dtrain::worker
