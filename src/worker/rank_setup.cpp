// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/rank_setup.hpp"

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "identity/address.hpp"
#include "identity/endpoint_list.hpp"
#include "identity/long_value.hpp"
#include "protocol/server_environment.hpp"

namespace dtrain::worker {
namespace {

constexpr const char* this_node = "127.0.0.1";
constexpr int rendezvous_ports = 2;

std::size_t position_in(const std::vector<topology::VisibleGpu>& visible, int position) {
    if (position < 0 || position >= static_cast<int>(visible.size()))
        throw UsageError(fmt::format(
            "this job uses GPU number {} of each node, counted from 0, but here are {}; give all nodes "
            "equally many GPUs",
            position, visible.size()));
    return static_cast<std::size_t>(position);
}

}  // namespace

std::vector<std::vector<int>> devices_in_turn(std::size_t visible, int local_size) {
    std::vector<std::vector<int>> out(static_cast<std::size_t>(local_size));
    if (visible == 0) return out;
    for (std::size_t rank = 0; rank < out.size(); ++rank) out[rank] = {static_cast<int>(rank % visible)};
    return out;
}

std::vector<topology::VisibleGpu> selected_gpus(const std::vector<topology::VisibleGpu>& visible,
                                                const std::string& select) {
    if (select == "all") return visible;
    std::vector<topology::VisibleGpu> out;
    for (const auto& part : split(select, ','))
        out.push_back(visible[position_in(visible, parse_int(part).value_or(-1))]);
    return out;
}

std::vector<cluster::RankAssignment> assign_node(const topology::Machine& machine, const CpuSet& usable,
                                                 const std::vector<topology::VisibleGpu>& visible,
                                                 const std::vector<std::vector<int>>& positions) {
    const auto ranks = positions.size();
    std::vector<std::vector<int>> gpus(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank)
        for (const int position : positions[rank])
            if (const auto index = visible[position_in(visible, position)].index)
                gpus[rank].push_back(*index);
    const auto placements = topology::place(topology::restricted(machine, usable), gpus);
    std::vector<cluster::RankAssignment> out;
    for (std::size_t rank = 0; rank < ranks; ++rank)
        out.push_back({.cpus = placements[rank].cpus,
                       .numa_nodes = placements[rank].numa_nodes,
                       .devices = positions[rank],
                       .threads = placements[rank].threads,
                       .shared = placements[rank].shared,
                       .adapter = placements[rank].adapter});
    return out;
}

CpuSet usable_cpus(const topology::Machine& machine, const CpuSet& given) {
    const auto both = machine.allowed & given;
    return machine.is_this_system && !both.empty() ? both : machine.allowed;
}

int unplanned_ports(const cluster::Identity& identity) {
    return identity.local_size + rendezvous_ports;
}

cluster::Endpoints unplanned_endpoints(const cluster::Identity& identity, std::optional<int> start_port) {
    const int port = start_port.value_or(cluster::base_port(identity.job_id, unplanned_ports(identity)));
    if (identity.nodes == 1) return cluster::consecutive_endpoints({this_node}, {identity.size}, port);
    if (static_cast<int>(identity.hosts.size()) != identity.nodes ||
        identity.ranks_of_node.size() != identity.hosts.size())
        throw UsageError(fmt::format(
            "the {} ranks run on several nodes, but no variable of {} names the nodes and their ranks; start "
            "the job "
            "with dtrain-launch or under Slurm, or name the nodes in rank order: DTRAIN_HOSTS=node1,node2",
            identity.size, cluster::to_string(identity.launcher)));
    return cluster::consecutive_endpoints(identity.hosts, identity.ranks_of_node, port);
}

std::optional<cluster::Endpoints> planned_endpoints(const Environment& environment) {
    const auto trainers = cluster::get_long(environment, "DTRAIN_ENDPOINTS");
    const auto workers = cluster::get_long(environment, "DTRAIN_WORKERS");
    if (!trainers && !workers) return std::nullopt;
    cluster::Endpoints out{.trainers = cluster::parse_endpoint_list(workers ? *workers : *trainers),
                           .paddle_master = environment.get_or("DTRAIN_MASTER", "")};
    const auto torch = environment.get_or("DTRAIN_TORCH_MASTER", "");
    out.master_port = cluster::port_of(torch);
    out.master_addr = cluster::parse_address(torch).host;
    return out;
}

std::optional<cluster::ServerJob> planned_server_job(const Environment& environment,
                                                     const cluster::Identity& identity,
                                                     const std::string& role) {
    auto job = cluster::read_server_job(environment);
    if (!job) {
        if (!role.empty())
            throw UsageError(
                fmt::format("--role {}: nothing says where this job's servers and workers are; start it with "
                            "dtrain-launch --server_num N --worker_num N",
                            role));
        return job;
    }
    const auto planned = cluster::to_string(cluster::member_of(*job, identity.rank).role);
    if (!role.empty() && role != planned)
        throw UsageError(
            fmt::format("--role {}, but the plan has rank {} as {}", role, identity.rank, planned));
    return job;
}

DeviceView view_of(const std::string& visible, const std::vector<int>& devices, bool own_devices_only) {
    if (!own_devices_only || visible.empty()) return {.cuda_visible_devices = visible, .positions = devices};
    const auto ids = split(visible, ',');
    std::vector<std::string> own;
    DeviceView view;
    for (const int device : devices) {
        own.push_back(ids.at(static_cast<std::size_t>(device)));
        view.positions.push_back(static_cast<int>(view.positions.size()));
    }
    view.cuda_visible_devices = join(own, ",");
    return view;
}

std::vector<int> ports_of_rank(const cluster::Identity& identity, const cluster::Endpoints& endpoints,
                               const std::optional<cluster::ServerJob>& servers) {
    const auto& own = servers ? cluster::member_of(*servers, identity.rank).endpoint
                              : endpoints.trainers.at(static_cast<std::size_t>(identity.rank));
    std::vector<int> ports{cluster::port_of(own)};
    if (identity.rank == 0) {
        if (servers) ports.push_back(cluster::port_of(servers->gloo_endpoint));
        ports.push_back(cluster::port_of(endpoints.paddle_master));
        ports.push_back(endpoints.master_port);
    }
    return ports;
}

std::string pod_name(const cluster::Identity& identity) {
    auto rest = static_cast<unsigned>(
                    cluster::base_port(fmt::format("{}/{}", identity.job_id, identity.node_rank), 1)) *
                2654435761U;
    std::string name;
    for (int letter = 0; letter < 6; ++letter, rest /= 26) name += static_cast<char>('a' + rest % 26);
    return name;
}

}  // namespace dtrain::worker
