// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/plan/nodes.hpp"

#include <algorithm>
#include <array>
#include <unordered_set>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "identity/address.hpp"
#include "scheduler/registry.hpp"

namespace dtrain::launch {
namespace {

constexpr std::string_view loopback = "127.0.0.1";

/// The four numbers of an IPv4 address, as a sort key; names sort after addresses.
std::array<int, 4> ipv4_number(const std::string& host) {
    std::array<int, 4> out{256, 256, 256, 256};
    const auto parts = split(host, '.');
    if (parts.size() != 4) return out;
    for (std::size_t part = 0; part < 4; ++part)
        if (const auto number = parse_int(parts[part])) out[part] = *number;
    return out;
}

std::vector<std::string> hosts_of_ips(const std::string& ips) {
    std::vector<std::string> hosts;
    std::unordered_set<std::string> known;
    for (const auto& part : split(ips, ',')) {
        const auto address = cluster::parse_address_of("--ips", ips, part);
        if (address.port)
            throw UsageError(
                fmt::format("--ips {}: {} has a port; --start_port gives ports", ips, trimmed(part)));
        if (!known.insert(address.host).second)
            throw UsageError(fmt::format("--ips {}: {} is named twice", ips, address.host));
        hosts.push_back(address.host);
    }
    if (hosts.size() > 1)
        for (const auto& host : hosts)
            if (is_loopback(host))
                throw UsageError(fmt::format(
                    "--ips {}: {} means another machine on each node; write the address that all can reach",
                    ips, host));
    return hosts;
}

void check_count(const Options& options, std::size_t count) {
    if (options.nnodes.find(':') != std::string::npos)
        throw UsageError(
            fmt::format("--nnodes {}: a range is for elastic jobs; name their etcd with --master "
                        "etcd://host:port, or write one number",
                        options.nnodes));
    const auto wanted = parse_int(trimmed(options.nnodes));
    if (!wanted || *wanted < 1)
        throw UsageError(fmt::format("--nnodes {} is no number of nodes", options.nnodes));
    if (static_cast<std::size_t>(*wanted) == count || *wanted == 1) return;
    throw UsageError(
        count == 1
            ? fmt::format(
                  "--nnodes {}: name the nodes with --ips, or where they meet with --master ip:port; then "
                  "they are known only once they have joined",
                  *wanted)
            : fmt::format("--nnodes {}, but {} nodes are named", *wanted, count));
}

std::optional<int> own_position(const Options& options, const std::vector<std::string>& hosts,
                                const std::set<std::string>& own_addresses) {
    const auto position = [&](const auto& matches) -> std::optional<int> {
        const auto found = std::find_if(hosts.begin(), hosts.end(), matches);
        if (found == hosts.end()) return std::nullopt;
        return static_cast<int>(found - hosts.begin());
    };
    if (options.rank && *options.rank >= static_cast<int>(hosts.size()))
        throw UsageError(fmt::format("--rank {}, but there {} {} node{}, counted from 0", *options.rank,
                                     hosts.size() == 1 ? "is" : "are", hosts.size(),
                                     hosts.size() == 1 ? "" : "s"));
    if (hosts.size() == 1 && is_loopback(hosts.front())) return 0;
    if (options.host) {
        const auto own = position([&](const std::string& host) { return host == *options.host; });
        if (!own)
            throw UsageError(
                fmt::format("--host {} is none of the nodes {}", *options.host, join(hosts, ",")));
        return own;
    }
    if (options.rank && *options.rank >= 0) return options.rank;
    return position([&](const std::string& host) { return own_addresses.contains(host); });
}

}  // namespace

std::set<std::string> own_names(
    std::set<std::string> own_addresses, const std::vector<std::string>& hosts,
    const std::function<std::vector<std::string>(const std::string&)>& addresses_of) {
    const auto is_own = [&](const std::string& name) { return own_addresses.contains(name); };
    if (std::any_of(hosts.begin(), hosts.end(), is_own)) return own_addresses;
    for (const auto& host : hosts) {
        const auto addresses = addresses_of(host);
        if (std::none_of(addresses.begin(), addresses.end(), is_own)) continue;
        own_addresses.insert(host);
        break;
    }
    return own_addresses;
}

std::vector<std::string> hosts_named(const Options& options,
                                     const std::vector<cluster::HostSlots>& hostfile) {
    std::vector<std::string> out;
    for (const auto& each : hostfile) out.push_back(each.host);
    if (options.ips == loopback) return out;
    for (const auto& each : split(options.ips, ',')) out.emplace_back(trimmed(each));
    return out;
}

bool is_loopback(const std::string& host) {
    return host.starts_with("127.") || host == "localhost" || host == "::1";
}

Nodes nodes_of(const Options& options, const std::optional<cluster::PaddleCloud>& cloud,
               const std::vector<cluster::HostSlots>& hostfile, const std::set<std::string>& own_addresses) {
    Nodes out;
    if (cloud) {
        out.hosts = cloud->nodes;
        out.own = cloud->node_rank;
        if (options.ips != loopback && options.ips != join(cloud->nodes, ","))
            out.notices.push_back(fmt::format("--ips {} is not used: PaddleCloud names the nodes {}",
                                              options.ips, join(cloud->nodes, ",")));
        return out;
    }
    if (options.hostfile) {
        if (options.ips != loopback)
            throw UsageError("--ips and --hostfile both name the nodes; give one of them");
        for (const auto& each : hostfile) out.hosts.push_back(each.host);
        if (out.hosts.empty())
            throw UsageError(fmt::format("--hostfile {} names no host", *options.hostfile));
    } else {
        out.hosts = hosts_of_ips(options.ips);
    }
    if (options.sort_ip)
        std::stable_sort(out.hosts.begin(), out.hosts.end(), [](const std::string& a, const std::string& b) {
            return ipv4_number(a) < ipv4_number(b);
        });
    check_count(options, out.hosts.size());
    out.own = own_position(options, out.hosts, own_addresses);
    return out;
}

Nodes nodes_of(const Options& options, const scheduler::Allocation& allocation,
               const std::set<std::string>& own_addresses) {
    if (options.nnodes != Options().nnodes && options.nnodes != std::to_string(allocation.nodes.size()))
        throw UsageError(fmt::format("--nnodes {}, but {}'s job {} has {}; ask it for as many",
                                     options.nnodes, allocation.scheduler, allocation.job_id,
                                     allocation.nodes.size()));
    Nodes out;
    for (const auto& node : allocation.nodes) {
        if (own_addresses.contains(node.host)) out.own = static_cast<int>(out.hosts.size());
        out.hosts.push_back(node.host);
    }
    return out;
}

bool uses_allocation(const Options& options, const Environment& environment,
                     const scheduler::Allocation& allocation) {
    if (options.ips != loopback || options.hostfile || cluster::paddle_cloud(environment)) return false;
    const auto is_allocated = [&](std::string_view address) {
        const auto host = cluster::parse_address(std::string(trimmed(address))).host;
        return std::any_of(allocation.nodes.begin(), allocation.nodes.end(),
                           [&](const auto& node) { return node.host == host; });
    };
    for (const auto* list : {&options.servers, &options.workers, &options.heter_workers}) {
        if (list->empty()) continue;
        for (const auto& stage : split(*list, ';')) {
            const auto addresses = split(stage, ',');
            if (!std::all_of(addresses.begin(), addresses.end(), is_allocated)) return false;
        }
    }
    return true;
}

std::optional<std::string> lone_launchers_warning(const Options& options, const Environment& environment) {
    const bool named = options.ips != loopback || options.hostfile || options.master ||
                       !options.servers.empty() || !options.workers.empty() ||
                       cluster::paddle_cloud(environment);
    if (named) return std::nullopt;
    for (const auto* scheduler : scheduler::schedulers()) {
        const auto task = scheduler->own_task(environment);
        if (!task || task->count == 1 || task->rank > 0) continue;
        return fmt::format(
            "{0} started {1} launchers, and each runs the job by itself; for one job give all of them --ips "
            "{2}, or start dtrain-launch without {0}",
            task->started_by, task->count, join(task->hosts, ","));
    }
    return std::nullopt;
}

}  // namespace dtrain::launch
