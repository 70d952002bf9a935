// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/plan.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "cluster/address.hpp"
#include "launch/devices.hpp"
#include "launch/members.hpp"
#include "launch/nodes.hpp"

namespace dtrain::launch {
namespace {

using cluster::Role;
using topology::VisibleGpu;
using Devices = std::vector<VisibleGpu>;

constexpr int rendezvous_ports = 2;
constexpr int paddles_first_port = 6170;  // where lists without ports begin, in Paddle too

std::vector<std::string> warnings_about(const Devices& devices) {
    Devices unknown;
    std::copy_if(devices.begin(), devices.end(), std::back_inserter(unknown),
                 [](const VisibleGpu& device) { return !device.index; });
    if (unknown.empty()) return {};
    return {
        fmt::format("this machine shows no GPU {}, which CUDA_VISIBLE_DEVICES names; used without pinning",
                    ids_of(unknown))};
}

void append(std::vector<std::string>& all, const std::vector<std::string>& more) {
    all.insert(all.end(), more.begin(), more.end());
}

/// One rank before it has processors.
struct Seat {
    RankPlan plan;
    Devices devices;
};

class Planner {
  public:
    explicit Planner(const PlanInput& input)
        : input_(input), options_(input.options), visible_(visible()), selected_(selected()) {
        plan_.mode = decide_mode(options_);
        plan_.job_id = options_.job_id;
        plan_.program = input.program;
        plan_.log_dir = input.log_dir;
        plan_.bind = options_.bind == "auto" && input.machine.is_this_system;
        plan_.narrow = options_.visible == "narrow";
        plan_.warnings = warnings_about(selected_);
        if (options_.backend == "nccl" && selected_.empty())
            throw UsageError("--backend nccl needs GPUs, and none is visible here; use gloo or auto");
    }

    Plan collective() {
        const auto cloud = cluster::paddle_cloud(input_.environment);
        const auto nodes = nodes_of(options_, cloud, input_.hostfile, input_.own_addresses);
        append(plan_.warnings, nodes.notices);
        plan_.own_node = nodes.own;
        check_handbook_count(nodes.hosts.size());
        const auto dealt = deal_devices(selected_, options_.nproc_per_node);
        const auto per_node = static_cast<int>(dealt.size());
        plan_.endpoints = collective_endpoints(nodes, cloud, per_node);

        int rank = 0;
        for (const auto& host : nodes.hosts) {
            std::vector<Seat> seats;
            for (const auto& devices : dealt) {
                seats.push_back(
                    {.plan = {.rank = rank,
                              .index = rank,
                              .endpoint = plan_.endpoints.trainers[static_cast<std::size_t>(rank)]},
                     .devices = devices});
                ++rank;
            }
            seat_node(host, std::move(seats));
        }
        warn_of_assumed_nodes();
        return std::move(plan_);
    }

    Plan with_servers() {
        auto places = server_job_places(options_, options_.start_port.value_or(paddles_first_port));
        auto ports = ports_of_server_job(places);
        plan_.servers = server_job(places, ports.gloo);
        plan_.endpoints = {
            .trainers = plan_.servers->workers,
            .paddle_master = cluster::format_address(places.servers.front().host, ports.master),
            .master_addr = places.servers.front().host,
            .master_port = ports.torch};
        seat_server_job(places);
        plan_.own_node = own_node_of_server_job();
        warn_of_assumed_nodes();
        return std::move(plan_);
    }

  private:
    Devices visible() const {
        return topology::visible_gpus(input_.machine, input_.environment.get("CUDA_VISIBLE_DEVICES"));
    }

    /// --gpus of the handbook's first spelling is a count.
    Devices selected() const {
        // Paddle's CPU-only mode, unless GPUs are asked for: torch trains on them over gloo, too.
        if (!options_.gpus) return options_.backend == "gloo" ? Devices{} : visible_;
        if (input_.environment.has("PADDLE_NUM_TRAINERS")) return first_gpus(*options_.gpus, visible_);
        return select_gpus(*options_.gpus, visible_, input_.machine);
    }

    void check_handbook_count(std::size_t nodes) const {
        const auto wanted = input_.environment.get_int("PADDLE_NUM_TRAINERS", 1);
        if (wanted && static_cast<std::size_t>(*wanted) != nodes)
            throw UsageError(fmt::format(
                "PADDLE_NUM_TRAINERS={} nodes, but {} {} named; name them with --ips or correct the variable",
                *wanted, nodes, nodes == 1 ? "is" : "are"));
    }

    cluster::Endpoints collective_endpoints(const Nodes& nodes,
                                            const std::optional<cluster::PaddleCloud>& cloud, int per_node) {
        const int count = per_node + rendezvous_ports;
        cluster::Endpoints out;
        if (cloud) {
            out.trainers = cluster::cloud_endpoints(*cloud, per_node);
            const auto last = cluster::port_of(out.trainers[static_cast<std::size_t>(per_node) - 1]);
            out.paddle_master = cluster::format_address(nodes.hosts.front(), last + 1);
            out.master_addr = nodes.hosts.front();
            out.master_port = last + 2;
        } else if (nodes.hosts.size() > 1 || options_.start_port) {
            const std::vector<int> per_each(nodes.hosts.size(), per_node);
            const int first = options_.start_port.value_or(0);
            out = cluster::consecutive_endpoints(
                nodes.hosts, per_each,
                first != 0 ? first
                           : cluster::base_port(options_.job_id + "@" + join(nodes.hosts, ","), count));
        } else {
            const auto ports = input_.ports.any(count);
            plan_.free_ports = true;
            const auto& host = nodes.hosts.front();
            for (int rank = 0; rank < per_node; ++rank)
                out.trainers.push_back(cluster::format_address(host, ports[static_cast<std::size_t>(rank)]));
            out.paddle_master = cluster::format_address(host, ports[static_cast<std::size_t>(per_node)]);
            out.master_addr = host;
            out.master_port = ports[static_cast<std::size_t>(per_node) + 1];
            use_given_master(out);
            return out;
        }
        use_given_master(out);
        prove(nodes, out, per_node);
        return out;
    }

    void use_given_master(cluster::Endpoints& endpoints) const {
        if (!options_.master) return;
        if (options_.master->find("://") != std::string::npos)
            throw UsageError(fmt::format("--master {}: this version meets at no etcd", *options_.master));
        const auto address = cluster::parse_address(*options_.master);
        if (!address.port)
            throw UsageError(fmt::format("--master {} has no port; write ip:port", *options_.master));
        endpoints.paddle_master = cluster::format_address(address.host, *address.port);
    }

    /// The ports that this machine's ranks will open, where they were not just found free.
    void prove(const Nodes& nodes, const cluster::Endpoints& endpoints, int per_node) const {
        if (!nodes.own) return;
        std::vector<int> ports;
        for (int local = 0; local < per_node; ++local)
            ports.push_back(cluster::port_of(
                endpoints.trainers[static_cast<std::size_t>(*nodes.own * per_node + local)]));
        if (*nodes.own == 0) {
            ports.push_back(cluster::port_of(endpoints.paddle_master));
            ports.push_back(endpoints.master_port);
        }
        input_.ports.exactly(ports);
    }

    struct MeetingPorts {
        int gloo, master, torch;
    };

    MeetingPorts ports_of_server_job(ServerJobPlaces& places) {
        std::vector<MemberPlace*> open;
        std::vector<int> fixed;
        int highest = options_.http_port.value_or(0);
        const auto look_at = [&](std::vector<MemberPlace>& members) {
            for (auto& member : members) {
                if (!member.port) {
                    open.push_back(&member);
                    continue;
                }
                highest = std::max(highest, *member.port);
                if (is_own(member.host)) fixed.push_back(*member.port);
            }
        };
        look_at(places.servers);
        look_at(places.workers);
        for (auto& stage : places.stages) look_at(stage.members);

        if (open.empty()) {
            // Known to every node without talking: behind the job's other ports.
            const MeetingPorts out{.gloo = options_.http_port.value_or(highest + 1),
                                   .master = highest + 2,
                                   .torch = highest + 3};
            if (is_own(places.servers.front().host))
                fixed.insert(fixed.end(), {out.gloo, out.master, out.torch});
            input_.ports.exactly(fixed);
            return out;
        }
        if (options_.http_port) fixed.push_back(*options_.http_port);
        input_.ports.exactly(fixed);
        const auto ports = input_.ports.any(static_cast<int>(open.size()) + 3);
        plan_.free_ports = true;
        auto next = ports.begin();
        for (auto* member : open) member->port = *next++;
        MeetingPorts out{.gloo = next[0], .master = next[1], .torch = next[2]};
        out.gloo = options_.http_port.value_or(out.gloo);
        return out;
    }

    bool is_own(const std::string& host) const {
        if (is_loopback(host)) return true;
        return options_.host ? host == *options_.host : input_.own_addresses.contains(host);
    }

    static cluster::ServerJob server_job(const ServerJobPlaces& places, int gloo_port) {
        const auto endpoints = [](const std::vector<MemberPlace>& members) {
            std::vector<std::string> out;
            for (const auto& member : members)
                out.push_back(cluster::format_address(member.host, member.port.value()));
            return out;
        };
        cluster::ServerJob out{
            .servers = endpoints(places.servers),
            .workers = endpoints(places.workers),
            .gloo_endpoint = cluster::format_address(places.servers.front().host, gloo_port)};
        for (const auto& stage : places.stages)
            out.stages.push_back({.device = stage.device, .endpoints = endpoints(stage.members)});
        return out;
    }

    /// Ranks stand in the order of their lists; each node seats those that its address is named for.
    void seat_server_job(const ServerJobPlaces& places) {
        std::vector<std::string> hosts;
        std::vector<std::vector<Seat>> seats;
        std::vector<std::size_t> devices_used;
        const bool stages_own_gpus =
            std::any_of(places.stages.begin(), places.stages.end(),
                        [](const StagePlaces& stage) { return stage.device == "gpu"; });
        int rank = 0;
        const auto take = [&](const std::vector<MemberPlace>& members, bool wants_gpu) {
            for (const auto& member : members) {
                auto node = static_cast<std::size_t>(std::find(hosts.begin(), hosts.end(), member.host) -
                                                     hosts.begin());
                if (node == hosts.size()) {
                    hosts.push_back(member.host);
                    seats.emplace_back();
                    devices_used.push_back(0);
                }
                const auto what = cluster::member_of(*plan_.servers, rank);
                Seat seat{
                    .plan = {
                        .rank = rank, .role = what.role, .index = what.index, .endpoint = what.endpoint}};
                if (wants_gpu && !selected_.empty())
                    seat.devices = {selected_[devices_used[node]++ % selected_.size()]};
                seats[node].push_back(std::move(seat));
                ++rank;
            }
        };
        take(places.servers, false);
        take(places.workers, !stages_own_gpus);
        for (const auto& stage : places.stages) take(stage.members, stage.device == "gpu");
        for (std::size_t node = 0; node < hosts.size(); ++node)
            seat_node(hosts[node], std::move(seats[node]));
    }

    std::optional<int> own_node_of_server_job() const {
        for (std::size_t node = 0; node < plan_.nodes.size(); ++node)
            if (is_own(plan_.nodes[node].host)) return static_cast<int>(node);
        if (options_.host)
            throw UsageError(fmt::format("--host {} is in none of --servers and --workers", *options_.host));
        return std::nullopt;
    }

    /// Where a device stands in what the node's programs may see.
    int position_of(const VisibleGpu& device) const {
        const auto& list = plan_.narrow ? selected_ : visible_;
        return static_cast<int>(std::find(list.begin(), list.end(), device) - list.begin());
    }

    void seat_node(const std::string& host, std::vector<Seat> seats) {
        std::vector<std::vector<int>> known;
        for (const auto& seat : seats) {
            std::vector<int> indices;
            for (const auto& device : seat.devices)
                if (device.index) indices.push_back(*device.index);
            known.push_back(indices);
        }
        const auto placements = topology::place(input_.machine, known);
        NodePlan node{.host = host, .cuda_visible_devices = ids_of(plan_.narrow ? selected_ : visible_)};
        for (std::size_t local = 0; local < seats.size(); ++local) {
            const auto& placement = placements[local];
            auto& rank = seats[local].plan;
            rank.local_rank = static_cast<int>(local);
            rank.reason = placement.reason;
            for (const auto& device : seats[local].devices) {
                rank.gpus.push_back(device.id);
                rank.assignment.devices.push_back(position_of(device));
                if (!device.index) rank.reason = "GPU that this machine does not show, " + placement.reason;
            }
            rank.assignment.cpus = placement.cpus;
            rank.assignment.numa_nodes = placement.numa_nodes;
            rank.assignment.threads = placement.threads;
            rank.assignment.shared = placement.shared;
            rank.assignment.adapter = placement.adapter;
            node.ranks.push_back(std::move(rank));
        }
        plan_.nodes.push_back(std::move(node));
    }

    void warn_of_assumed_nodes() {
        if (plan_.nodes.size() > 1)
            plan_.warnings.emplace_back("the other nodes are taken to be like this one");
        if (!plan_.own_node)
            plan_.warnings.push_back(
                fmt::format("this machine is none of the nodes; --host ADDRESS tells which"));
    }

    const PlanInput& input_;
    const Options& options_;
    Devices visible_;
    Devices selected_;
    Plan plan_;
};

}  // namespace

int Plan::size() const {
    int total = 0;
    for (const auto& node : nodes) total += static_cast<int>(node.ranks.size());
    return total;
}

std::vector<const RankPlan*> Plan::ranks() const {
    std::vector<const RankPlan*> out(static_cast<std::size_t>(size()));
    for (const auto& node : nodes)
        for (const auto& rank : node.ranks) out[static_cast<std::size_t>(rank.rank)] = &rank;
    return out;
}

Plan make_plan(const PlanInput& input) {
    Planner planner(input);
    return has_servers(decide_mode(input.options)) ? planner.with_servers() : planner.collective();
}

}  // namespace dtrain::launch
