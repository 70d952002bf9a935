// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/plan/rendezvous_point.hpp"

#include <cstring>

#include <fmt/format.h>

#include <dtrain/cluster.hpp>
#include <dtrain/error.hpp>

#include "base/ports.hpp"
#include "base/text.hpp"
#include "identity/address.hpp"
#include "identity/endpoints.hpp"
#include "launch/plan/nodes.hpp"

namespace dtrain::launch {

RendezvousPoint rendezvous_of(const Options& options, const std::vector<std::string>& hosts) {
    const auto& coordinator = hosts.front();
    return {.coordinator = coordinator,
            .port = options.link_port
                        ? *options.link_port
                        : cluster::base_port("link of " + options.job_id + "@" + coordinator, 1)};
}

int nodes_at_master(const Options& options) {
    const bool named = options.ips != Options().ips || options.hostfile || !options.servers.empty() ||
                       !options.workers.empty() || !options.heter_workers.empty();
    if (named || !options.master || options.master->find("://") != std::string::npos) return 0;
    const auto count = parse_int(trimmed(options.nnodes));
    if (!count || *count < 1)
        throw UsageError(fmt::format("--nnodes {} is no number of nodes", options.nnodes));
    return *count > 1 ? *count : 0;
}

RendezvousPoint rendezvous_at_master(const Options& options) {
    const auto address = cluster::parse_address(*options.master);
    if (!address.port)
        throw UsageError(fmt::format("--master {} has no port; write ip:port", *options.master));
    return {.coordinator = address.host, .port = *address.port};
}

bool may_be_coordinator(const Options& options, const RendezvousPoint& rendezvous,
                        const std::set<std::string>& own_addresses) {
    const int rank = options.rank.value_or(-1);
    const bool is_local = is_loopback(rendezvous.coordinator) ||
                          own_addresses.contains(rendezvous.coordinator) ||
                          options.host == rendezvous.coordinator;
    if (rank == 0 && !is_local)
        throw UsageError(
            fmt::format("--rank 0 belongs on the machine of --master {}, and none of this one's addresses "
                        "is that; start it there, or write this one's address in --master on all nodes",
                        *options.master));
    return is_local && rank <= 0;
}

void refuse_port(const RendezvousPoint& rendezvous, int error) {
    const auto holder = holder_of_port(rendezvous.port);
    throw UsageError(fmt::format(
        "TCP port {}, where the nodes of the job meet, cannot be used: {}{}; give the job a --job_id of "
        "its own, or another --link-port or --master, on all nodes",
        rendezvous.port, std::strerror(error), holder.empty() ? "" : ", held by " + holder));
}

}  // namespace dtrain::launch
