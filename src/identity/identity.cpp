// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/cluster.hpp>
#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "identity/contracts.hpp"
#include "identity/host_name.hpp"
#include "identity/long_value.hpp"
#include "identity/node_fields.hpp"

namespace dtrain::cluster {
namespace {

Identity read_first_contract(const Environment& environment, const ProcessIds& processes) {
    if (auto found = read_dtrain(environment)) return *found;
    if (auto found = read_open_mpi(environment)) return *found;
    if (auto found = read_hydra(environment, processes)) return *found;
    if (auto found = read_slurm(environment)) return *found;
    if (auto found = read_pals(environment)) return *found;
    if (auto found = read_bare_pmi(environment, processes)) return *found;
    Identity alone;
    alone.job_id = fmt::format("local-{}", processes.process);
    alone.ranks_of_node = {1};
    return alone;
}

/// Parses "a,b" or "a:2,b:2"; the number is that of the ranks on the host, slots 0 if it is missing.
std::vector<HostSlots> parse_dtrain_hosts(const std::string& text) {
    std::vector<HostSlots> out;
    for (const auto& part : split(text, ',')) {
        const auto [host, count] = split_host_and_number(trimmed(part));
        const auto slots = count ? parse_int(*count) : 0;
        if (!is_host_name(host) || !slots || (count && *slots < 1))
            throw UsageError(fmt::format(
                "DTRAIN_HOSTS={}: '{}' must be HOST or HOST:RANKS; correct or unset it", text, part));
        const bool bracketed = host.starts_with('[');  // an IPv6 address followed by a number
        out.push_back({std::string(bracketed ? host.substr(1, host.size() - 2) : host), *slots});
    }
    return out;
}

/// Identity of a rank whose plan numbers ranks by their roles: only the plan knows their nodes.
Identity on_planned_node(Identity identity, const std::vector<HostSlots>& nodes, const std::string& plan) {
    const auto field = node_field("DTRAIN_NODES_OF_RANKS", plan, identity.rank);
    const auto node = parse_int(field);
    if (!node || *node < 0 || *node >= static_cast<int>(nodes.size()))
        throw UsageError(
            fmt::format("DTRAIN_NODES_OF_RANKS={}: rank {} is on node {}, but DTRAIN_HOSTS names {}; "
                        "start the job through dtrain-launch again or unset it",
                        plan, identity.rank, field, nodes.size()));
    identity.node_rank = *node;
    identity.nodes = static_cast<int>(nodes.size());
    identity.ranks_of_node.clear();
    for (const auto& each : nodes) identity.hosts.push_back(each.host);
    return identity;
}

std::string own_host(const Environment& environment) {
    for (const char* name : {"PMIX_HOSTNAME", "PMI_HOSTNAME", "MPIR_CVAR_CH3_INTERFACE_HOSTNAME"})
        if (auto host = environment.get(name)) return *host;
    return {};
}

/// The number of ranks on each node if `size` ranks fill the slots in order; empty if there are too few
/// slots.
std::vector<int> fill_in_order(const std::vector<HostSlots>& nodes, int size) {
    std::vector<int> counts;
    for (const auto& node : nodes) {
        if (size == 0) break;
        counts.push_back(std::min(node.slots, size));
        size -= counts.back();
    }
    if (size != 0) counts.clear();
    return counts;
}

/// The node of this rank if the nodes run these numbers of ranks, or nothing if the local rank and size
/// contradict that.
std::optional<int> node_of(const Identity& identity, const std::vector<int>& ranks_of_node) {
    int first = 0;
    for (std::size_t node = 0; node < ranks_of_node.size(); ++node) {
        if (identity.rank < first + ranks_of_node[node]) {
            const bool agrees =
                identity.rank - first == identity.local_rank && ranks_of_node[node] == identity.local_size;
            return agrees ? std::optional<int>(static_cast<int>(node)) : std::nullopt;
        }
        first += ranks_of_node[node];
    }
    return std::nullopt;
}

}  // namespace

ProcessIds ProcessIds::of_this_process() {
    return {getpid(), getppid()};
}

std::string to_string(Launcher launcher) {
    switch (launcher) {
        case Launcher::none:
            return "none";
        case Launcher::open_mpi:
            return "Open MPI";
        case Launcher::hydra:
            return "MPICH/Intel MPI (hydra)";
        case Launcher::slurm:
            return "Slurm";
        case Launcher::pals:
            return "PALS (Cray)";
        case Launcher::dtrain:
            return "dtrain";
    }
    return "unknown";
}

Identity with_hosts(Identity identity, const std::vector<HostSlots>& nodes, std::string_view own_host) {
    auto counts = fill_in_order(nodes, identity.size);
    auto node = node_of(identity, counts);
    if (!node && !identity.ranks_of_node.empty() &&
        nodes.size() == static_cast<std::size_t>(identity.nodes)) {
        counts = identity.ranks_of_node;
        node = identity.node_rank;
    }
    if (!node) return identity;

    const auto own =
        std::find_if(nodes.begin(), nodes.end(), [&](const auto& n) { return n.host == own_host; });
    if (own != nodes.end() && own - nodes.begin() != *node) return identity;

    identity.node_rank = *node;
    identity.nodes = static_cast<int>(counts.size());
    identity.ranks_of_node = std::move(counts);
    identity.hosts.clear();
    for (int i = 0; i < identity.nodes; ++i)
        identity.hosts.push_back(nodes[static_cast<std::size_t>(i)].host);
    return identity;
}

Identity identify(const Environment& environment, const ProcessIds& processes) {
    Identity identity = read_first_contract(environment, processes);
    if (const auto id = environment.get("DTRAIN_JOB_ID"); id && !id->empty()) identity.job_id = *id;

    if (const auto hosts = get_long(environment, "DTRAIN_HOSTS"); hosts && !hosts->empty()) {
        const auto nodes = parse_dtrain_hosts(*hosts);
        identity.hosts.clear();
        if (const auto plan = get_long(environment, "DTRAIN_NODES_OF_RANKS"))
            return on_planned_node(std::move(identity), nodes, *plan);
        identity = with_hosts(std::move(identity), nodes);
        if (identity.hosts.empty())
            throw UsageError(fmt::format(
                "DTRAIN_HOSTS={} does not fit rank {} of {}, local rank {} of {}, as {} tells; start "
                "the job through dtrain-launch again or unset it",
                *hosts, identity.rank, identity.size, identity.local_rank, identity.local_size,
                to_string(identity.launcher)));
    } else if (identity.hosts.empty() && identity.launcher != Launcher::none) {
        // Without a launcher this may be the shell of salloc on a login node, which is not one of the job's
        // nodes.
        identity = with_hosts(std::move(identity), slurm_job_nodes(environment), own_host(environment));
    }
    return identity;
}

}  // namespace dtrain::cluster
