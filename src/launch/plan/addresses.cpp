// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/plan/addresses.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/ports.hpp"
#include "base/text.hpp"
#include "identity/address.hpp"

namespace dtrain::launch {
namespace {

constexpr int rendezvous_ports = 2;
constexpr int computed_tries = 10;

cluster::Endpoints endpoints_on_cloud(const Nodes& nodes, const cluster::PaddleCloud& cloud, int per_node) {
    cluster::Endpoints out{.trainers = cluster::cloud_endpoints(cloud, per_node),
                           .master_addr = nodes.hosts.front()};
    const auto last = cluster::port_of(out.trainers[static_cast<std::size_t>(per_node) - 1]);
    out.paddle_master = cluster::format_address(nodes.hosts.front(), last + 1);
    out.master_port = last + 2;
    return out;
}

/// Computed without communication; the result is the same on every node.
/// @param other 0, or the index of an alternative set of ports if some of the first were taken
cluster::Endpoints computed_endpoints(const Options& options, const Nodes& nodes,
                                      const std::vector<int>& ranks_of_node, int other) {
    auto job = options.job_id + "@" + join(nodes.hosts, ",");
    if (other > 0) job += fmt::format("#{}", other);
    const int max = *std::max_element(ranks_of_node.begin(), ranks_of_node.end());
    const auto first =
        options.start_port ? *options.start_port : cluster::base_port(job, max + rendezvous_ports);
    return cluster::consecutive_endpoints(nodes.hosts, ranks_of_node, first);
}

cluster::Endpoints free_endpoints(const PortSource& source, const std::string& host, int per_node) {
    const auto ports = source.any(per_node + rendezvous_ports);
    cluster::Endpoints out{.master_addr = host};
    for (int rank = 0; rank < per_node; ++rank)
        out.trainers.push_back(cluster::format_address(host, ports[static_cast<std::size_t>(rank)]));
    out.paddle_master = cluster::format_address(host, ports[static_cast<std::size_t>(per_node)]);
    out.master_port = ports[static_cast<std::size_t>(per_node) + 1];
    return out;
}

void use_given_master(const Options& options, cluster::Endpoints& endpoints) {
    if (!options.master) return;
    if (options.master->find("://") != std::string::npos)
        throw UsageError(fmt::format("--master {}: write ip:port, or etcd://host:port", *options.master));
    const auto address = cluster::parse_address(*options.master);
    if (!address.port)
        throw UsageError(fmt::format("--master {} has no port; write ip:port", *options.master));
    endpoints.paddle_master = cluster::format_address(address.host, *address.port);
}

/// The ports that this machine's ranks will open.
std::vector<int> own_ports(const Nodes& nodes, const cluster::Endpoints& endpoints,
                           const std::vector<int>& ranks_of_node) {
    std::vector<int> ports;
    if (!nodes.own) return ports;
    const auto own = ranks_of_node.begin() + *nodes.own;
    auto endpoint = endpoints.trainers.begin() + std::accumulate(ranks_of_node.begin(), own, 0);
    for (int local = 0; local < *own; ++local) ports.push_back(cluster::port_of(*endpoint++));
    if (*nodes.own == 0)
        ports.insert(ports.end(), {cluster::port_of(endpoints.paddle_master), endpoints.master_port});
    return ports;
}

/// Rendezvous ports of a parameter-server job, on the first server's host.
struct RendezvousPorts {
    int gloo = 0;
    int master = 0;
    int torch = 0;
    bool free = false;
};

/// The option that sets this port of this machine; "" if dtrain chose it.
std::string option_with_port(const PlanInput& input, const ServerJobMembers& members, int port) {
    const auto has = [&](const std::vector<MemberAddress>& of_role) {
        return std::any_of(of_role.begin(), of_role.end(), [&](const MemberAddress& member) {
            return member.own_choice && member.port == port && is_own_host(input, member.host);
        });
    };
    if (has(members.servers)) return "--servers";
    if (has(members.workers)) return "--workers";
    if (std::any_of(members.stages.begin(), members.stages.end(),
                    [&](const StageMembers& stage) { return has(stage.members); }))
        return "--heter_workers";
    return input.options.http_port == port ? "--http_port" : "";
}

void check_own_ports(const PlanInput& input, const ServerJobMembers& members, const std::vector<int>& ports) {
    try {
        input.ports.exactly(ports);
    } catch (const PortTaken& taken) {
        const auto option = option_with_port(input, members, taken.port());
        if (option.empty()) throw;
        throw taken.with_advice(fmt::format("choose another in {}", option));
    }
}

RendezvousPorts assign_ports(const PlanInput& input, ServerJobMembers& members) {
    const auto wanted_gloo = input.options.http_port;
    std::vector<MemberAddress*> open;
    std::vector<int> own;
    int highest = wanted_gloo.value_or(0);
    for (auto* member : in_rank_order(members)) {
        if (!member->port) {
            open.push_back(member);
            continue;
        }
        highest = std::max(highest, *member->port);
        if (is_own_host(input, member->host)) own.push_back(*member->port);
    }
    if (open.empty()) {
        // Every node computes the same ports without communication.
        const RendezvousPorts out{
            .gloo = wanted_gloo.value_or(highest + 1), .master = highest + 2, .torch = highest + 3};
        if (is_own_host(input, members.servers.front().host))
            own.insert(own.end(), {out.gloo, out.master, out.torch});
        check_own_ports(input, members, own);
        return out;
    }
    if (wanted_gloo) own.push_back(*wanted_gloo);
    check_own_ports(input, members, own);
    constexpr int rendezvous_ports = 3;
    const auto ports = input.ports.any(static_cast<int>(open.size()) + rendezvous_ports);
    auto next = ports.begin();
    for (auto* member : open) member->port = *next++;
    return {.gloo = wanted_gloo.value_or(next[0]), .master = next[1], .torch = next[2], .free = true};
}

std::vector<std::string> endpoints_of(const std::vector<MemberAddress>& members) {
    std::vector<std::string> out;
    for (const auto& member : members)
        out.push_back(cluster::format_address(member.host, member.port.value()));
    return out;
}

}  // namespace

bool is_own_host(const PlanInput& input, const std::string& host) {
    if (is_loopback(host)) return true;
    return input.options.host ? host == *input.options.host : input.own_addresses.contains(host);
}

CollectiveAddresses collective_addresses(const PlanInput& input, const Nodes& nodes,
                                         const std::optional<cluster::PaddleCloud>& cloud,
                                         const std::vector<int>& ranks_of_node) {
    const int of_first = ranks_of_node.front();
    const bool chosen = !cloud && !input.options.start_port;
    const auto with_ports = [&](cluster::Endpoints endpoints) {
        use_given_master(input.options, endpoints);
        if (const auto& torch = input.options.torch; torch && torch->master_port)
            endpoints.master_port = *torch->master_port;
        return CollectiveAddresses{.endpoints = std::move(endpoints), .free_ports = chosen};
    };
    if (chosen && nodes.hosts.size() == 1 && (nodes.own || !input.allocation))
        return with_ports(free_endpoints(input.ports, nodes.hosts.front(), of_first));
    for (int tried = 0;; ++tried) {
        auto out = with_ports(cloud ? endpoints_on_cloud(nodes, *cloud, of_first)
                                    : computed_endpoints(input.options, nodes, ranks_of_node,
                                                         (input.attempt - 1) * computed_tries + tried));
        try {
            input.ports.exactly(own_ports(nodes, out.endpoints, ranks_of_node));
            return out;
        } catch (const PortTaken&) {
            if (!chosen || tried + 1 == computed_tries) throw;
        }
    }
}

cluster::Endpoints joined_endpoints(const PlanInput& input) {
    std::vector<std::string> hosts;
    std::vector<int> ranks;
    int total = rendezvous_ports;
    for (const auto& node : input.joined) {
        hosts.push_back(node.host);
        ranks.push_back(node.ranks);
        total += node.ranks;
    }
    const auto first = input.options.start_port
                           ? *input.options.start_port
                           : cluster::base_port(input.options.job_id + "@" + *input.options.master, total);
    return cluster::consecutive_endpoints(hosts, ranks, first);
}

ServerJobAddresses server_job_addresses(const PlanInput& input, ServerJobMembers members) {
    const auto ports = assign_ports(input, members);
    const auto& first_host = members.servers.front().host;
    ServerJobAddresses out{.job = {.servers = endpoints_of(members.servers),
                                   .workers = endpoints_of(members.workers),
                                   .gloo_endpoint = cluster::format_address(first_host, ports.gloo)},
                           .free_ports = ports.free};
    for (const auto& stage : members.stages)
        out.job.stages.push_back(
            {.device = to_string(stage.device), .endpoints = endpoints_of(stage.members)});
    out.endpoints = {.trainers = out.job.workers,
                     .paddle_master = cluster::format_address(first_host, ports.master),
                     .master_addr = first_host,
                     .master_port = ports.torch};
    return out;
}

}  // namespace dtrain::launch
