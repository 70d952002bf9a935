// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/plan/plan.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/ports.hpp"
#include "base/text.hpp"
#include "launch/plan/addresses.hpp"
#include "launch/plan/devices.hpp"
#include "launch/plan/members.hpp"
#include "launch/plan/nodes.hpp"
#include "launch/plan/rendezvous_point.hpp"
#include "topology/select_gpus.hpp"

namespace dtrain::launch {
namespace {

using cluster::Role;
using topology::VisibleGpu;
using Devices = std::vector<VisibleGpu>;

constexpr int max_ports_of_server_job = 1000;
constexpr int max_rendezvous_ports = 3;  // on ports above those of a parameter-server job's ranks
constexpr int tries_of_joined_nodes = 10;
constexpr int paddles_first_port = 6170;  // first port for lists without ports, as in Paddle

std::vector<std::string> warnings_about(const Devices& devices) {
    Devices unknown;
    std::copy_if(devices.begin(), devices.end(), std::back_inserter(unknown),
                 [](const VisibleGpu& device) { return !device.index; });
    if (unknown.empty()) return {};
    return {
        fmt::format("this machine shows no GPU {}, which CUDA_VISIBLE_DEVICES names; used without pinning",
                    topology::ids_of(unknown))};
}

std::vector<std::string> hosts_of(const scheduler::Allocation& allocation) {
    std::vector<std::string> out;
    for (const auto& node : allocation.nodes) out.push_back(node.host);
    return out;
}

/// One rank before its processors are assigned.
struct RankSlot {
    RankPlan plan;
    Devices devices;
};

class PlanMaker {
  public:
    explicit PlanMaker(const PlanInput& input)
        : input_(input), options_(input.options), visible_(visible()), selected_(selected()) {
        plan_.engine = input.engine;
        plan_.mode = decide_mode(options_);
        plan_.job_id = options_.job_id;
        plan_.program = input.program;
        plan_.log_dir = input.log_dir;
        plan_.working_dir = input.working_dir;
        plan_.remote_shell = input.remote_shell;
        plan_.nodes_place_themselves = input.by_schedulers_daemons || !input.remote_shell.empty();
        plan_.bind = options_.bind == Binding::automatic && input.machine.is_this_system;
        plan_.narrow = options_.visible == VisibleGpus::narrow;
        if (plan_.nodes_place_themselves)
            note_positions();
        else
            plan_.warnings = warnings_about(selected_);
        if (options_.backend == ProgramBackend::nccl && selected_.empty())
            throw UsageError("--backend nccl needs GPUs, and none is visible here; use gloo or auto");
        if (options_.torch && options_.torch->needs_gpus && selected_.empty())
            throw UsageError("--nproc-per-node gpu: no GPU is visible here; give a number, or cpu");
        if (options_.server_device == Device::Kind::gpu && selected_.empty())
            throw UsageError("--server_device gpu needs GPUs, and none is visible here; use cpu");
    }

    Plan plan() { return has_servers(plan_.mode) ? with_servers() : collective(); }

  private:
    Plan collective() {
        if (!input_.joined.empty()) return of_joined_nodes();
        const auto cloud = cluster::paddle_cloud(input_.environment);
        const auto nodes = input_.allocation
                               ? nodes_of(options_, *input_.allocation, input_.own_addresses)
                               : nodes_of(options_, cloud, input_.hostfile, input_.own_addresses);
        append(plan_.warnings, nodes.notices);
        plan_.own_node = nodes.own;
        check_handbook_count(nodes.hosts.size());
        std::vector<std::vector<Devices>> dealt;
        std::vector<int> ranks_of_node;
        for (std::size_t node = 0; node < nodes.hosts.size(); ++node) {
            dealt.push_back(deal_devices(selected_, processes_on(node)));
            ranks_of_node.push_back(static_cast<int>(dealt.back().size()));
        }
        auto addresses = collective_addresses(input_, nodes, cloud, ranks_of_node);
        plan_.endpoints = std::move(addresses.endpoints);
        plan_.free_ports = addresses.free_ports;

        int rank = 0;
        for (std::size_t node = 0; node < nodes.hosts.size(); ++node) {
            fill_node(nodes.hosts[node], slots_of(dealt[node], rank));
        }
        warn_of_assumed_nodes();
        return std::move(plan_);
    }

    /// The other nodes report themselves which devices their ranks have.
    Plan of_joined_nodes() {
        plan_.own_node = 0;
        auto dealt =
            deal_devices(selected_, options_.torch ? processes_of_torch_run() : options_.nproc_per_node);
        plan_.endpoints = joined_endpoints(input_);
        int rank = 0;
        for (const auto& joined : input_.joined) {
            dealt.resize(static_cast<std::size_t>(joined.ranks));
            fill_node(joined.host, slots_of(dealt, rank));
            dealt.clear();
        }
        return std::move(plan_);
    }

    /// @param[in,out] rank first rank of this node; advanced to the next node's first rank
    std::vector<RankSlot> slots_of(const std::vector<Devices>& dealt, int& rank) const {
        std::vector<RankSlot> slots;
        for (const auto& devices : dealt) {
            slots.push_back({.plan = {.rank = rank,
                                      .index = rank,
                                      .endpoint = plan_.endpoints.trainers[static_cast<std::size_t>(rank)]},
                             .devices = devices});
            ++rank;
        }
        return slots;
    }

    /// Only this machine's taken ports are detected here; those of other nodes are detected when they start.
    Plan of_joined_nodes_with_servers() {
        int ranks = max_rendezvous_ports;
        for (const auto& joined : input_.joined) ranks += joined.ranks;
        for (int tried = 0;; ++tried) {
            const auto job = fmt::format("{}@{}#{}", options_.job_id, options_.master.value_or(""),
                                         (input_.attempt - 1) * tries_of_joined_nodes + tried);
            const auto first = options_.start_port.value_or(cluster::base_port(job, ranks));
            try {
                fill_server_job(joined_members(options_, first, input_.joined));
                break;
            } catch (const PortTaken&) {
                if (options_.start_port || tried + 1 == tries_of_joined_nodes) throw;
            }
        }
        plan_.free_ports = !options_.start_port;
        plan_.own_node = 0;
        return std::move(plan_);
    }

    Plan with_servers() {
        if (!input_.joined.empty()) return of_joined_nodes_with_servers();
        if (!input_.allocation && nodes_at_master(options_) > 0)
            throw UsageError(fmt::format(
                "--nnodes {}: the nodes that come to --master {} are known only once they have joined",
                options_.nnodes, *options_.master));
        const auto members =
            input_.allocation ? server_job_members(options_,
                                                   options_.start_port.value_or(cluster::base_port(
                                                       options_.job_id, max_ports_of_server_job)),
                                                   hosts_of(*input_.allocation))
                              : server_job_members(options_, options_.start_port.value_or(paddles_first_port),
                                                   host_of_numbers());
        fill_server_job(members);
        plan_.own_node = own_node_of_server_job();
        warn_of_assumed_nodes();
        return std::move(plan_);
    }

    /// Host for members given by --worker_num and the like, i.e. this machine, which a list may call by
    /// another name.
    std::vector<std::string> host_of_numbers() const {
        const auto named = hosts_of_lists(options_);
        if (named.empty()) return {this_machine};
        if (const auto found = std::find_if(named.begin(), named.end(), is_loopback);
            found != named.end() && named.size() > 1)
            throw UsageError(
                fmt::format("--servers and --workers name {}: {} means another machine on each node; write "
                            "the address that all can reach",
                            join(named, ", "), *found));
        if (std::all_of(named.begin(), named.end(),
                        [this](const std::string& host) { return is_own_host(input_, host); }))
            return {named.front()};
        if (const auto number = number_without_list(options_))
            throw UsageError(fmt::format(
                "{} puts its processes on this machine, and the lists name {}; name them all with {}",
                number->option, join(named, ", "), number->list));
        return {this_machine};
    }

    /// salloc's shell gets no GPU names: Slurm numbers the GPUs that a node's tasks see from 0.
    Devices visible() const {
        auto names = input_.environment.get("CUDA_VISIBLE_DEVICES");
        if (!names && input_.allocation) {
            std::vector<std::string> numbers;
            for (int gpu = 0; gpu < input_.allocation->gpus_of_node.value_or(0); ++gpu)
                numbers.push_back(std::to_string(gpu));
            names = join(numbers, ",");
        }
        return topology::visible_gpus(input_.machine, names);
    }

    void note_positions() {
        const int allocated = input_.allocation ? input_.allocation->gpus_of_node.value_or(0) : 0;
        plan_.gpus_of_node = std::min(static_cast<int>(visible_.size()), allocated);
        if (selected_ == visible_) return;
        for (const auto& device : selected_)
            plan_.selected_positions.push_back(
                static_cast<int>(std::find(visible_.begin(), visible_.end(), device) - visible_.begin()));
    }

    /// The number of processes of a node; nothing: one for each GPU. One task per node is what users request
    /// from Slurm if a launcher starts the ranks.
    std::optional<int> processes_on(std::size_t node) const {
        if (options_.torch) return processes_of_torch_run();
        if (options_.nproc_per_node || options_.gpus || !input_.allocation) return options_.nproc_per_node;
        const auto& nodes = input_.allocation->nodes;
        const bool ranks_were_asked_for =
            input_.allocation->task_count_requested &&
            std::any_of(nodes.begin(), nodes.end(), [](const auto& each) { return each.slots > 1; });
        if (!selected_.empty() && !ranks_were_asked_for) return std::nullopt;
        const int tasks = nodes[node].slots;
        if (const auto gpus = static_cast<int>(selected_.size()); gpus % tasks != 0)
            throw UsageError(fmt::format(
                "{} gives {} tasks and {} GPUs to {}; each process gets equally many GPUs, so ask "
                "it for other numbers, or give --nproc_per_node",
                input_.allocation->scheduler, tasks, gpus, nodes[node].host));
        return tasks;
    }

    /// Without a number: one for each GPU, without GPUs one for each processor.
    int processes_of_torch_run() const {
        if (options_.nproc_per_node) return *options_.nproc_per_node;
        return static_cast<int>(selected_.empty() ? input_.machine.allowed.count() : selected_.size());
    }

    /// In the handbook's first spelling (Paddle 1.x) --gpus is a count.
    Devices selected() const {
        // Paddle's CPU-only mode, unless GPUs are asked for: torch trains on them over gloo, too.
        if (options_.torch) return first_for_each(visible_, options_.nproc_per_node);
        if (!options_.gpus) return options_.backend == ProgramBackend::gloo ? Devices{} : visible_;
        if (input_.environment.has("PADDLE_NUM_TRAINERS")) return first_gpus(*options_.gpus, visible_);
        return topology::select_gpus(*options_.gpus, visible_, input_.machine);
    }

    void check_handbook_count(std::size_t nodes) const {
        const auto wanted = input_.environment.get_int("PADDLE_NUM_TRAINERS", 1);
        if (wanted && static_cast<std::size_t>(*wanted) != nodes)
            throw UsageError(fmt::format(
                "PADDLE_NUM_TRAINERS={} nodes, but {} {} named; name them with --ips or correct the variable",
                *wanted, nodes, nodes == 1 ? "is" : "are"));
    }

    /// Ranks are in the order of their lists; each node gets those whose address names it.
    void fill_server_job(const ServerJobMembers& members) {
        auto addresses = server_job_addresses(input_, members);
        plan_.servers = std::move(addresses.job);
        plan_.endpoints = std::move(addresses.endpoints);
        plan_.free_ports = addresses.free_ports;
        std::vector<std::string> hosts;
        for (const auto& joined : input_.joined) hosts.push_back(joined.host);
        std::vector<std::vector<RankSlot>> slots(hosts.size());
        std::vector<std::size_t> devices_used(hosts.size());
        const bool stages_own_gpus =
            std::any_of(members.stages.begin(), members.stages.end(),
                        [](const StageMembers& stage) { return stage.device == Device::Kind::gpu; });
        int rank = 0;
        const auto take = [&](const std::vector<MemberAddress>& of_role, bool wants_gpu) {
            for (const auto& member : of_role) {
                const auto node = member.node.value_or(static_cast<std::size_t>(
                    std::find(hosts.begin(), hosts.end(), member.host) - hosts.begin()));
                if (node == hosts.size()) {
                    hosts.push_back(member.host);
                    slots.emplace_back();
                    devices_used.push_back(0);
                }
                const auto what = cluster::member_of(*plan_.servers, rank);
                RankSlot slot{
                    .plan = {
                        .rank = rank, .role = what.role, .index = what.index, .endpoint = what.endpoint}};
                const bool reported_by_its_node = node > 0 && !input_.joined.empty();
                if (wants_gpu && !selected_.empty() && !reported_by_its_node)
                    slot.devices = {selected_[devices_used[node]++ % selected_.size()]};
                slots[node].push_back(std::move(slot));
                ++rank;
            }
        };
        take(members.servers, options_.server_device == Device::Kind::gpu);
        take(members.workers, !stages_own_gpus);
        for (const auto& stage : members.stages) take(stage.members, stage.device == Device::Kind::gpu);
        for (std::size_t node = 0; node < hosts.size(); ++node)
            fill_node(hosts[node], std::move(slots[node]));
    }

    std::optional<int> own_node_of_server_job() const {
        for (std::size_t node = 0; node < plan_.nodes.size(); ++node)
            if (is_own_host(input_, plan_.nodes[node].host)) return static_cast<int>(node);
        if (options_.host)
            throw UsageError(fmt::format("--host {} is in none of --servers and --workers", *options_.host));
        return std::nullopt;
    }

    /// The index of a device among those visible to the node's programs.
    int position_of(const VisibleGpu& device) const {
        const auto& list = plan_.narrow ? selected_ : visible_;
        return static_cast<int>(std::find(list.begin(), list.end(), device) - list.begin());
    }

    /// Cached, since most of 10,000 nodes equal the previous one.
    const std::vector<topology::Placement>& placed(const std::vector<std::vector<int>>& gpus_of_rank) {
        if (placements_.empty() || gpus_of_rank != placed_for_) {
            placements_ = topology::place(input_.machine, gpus_of_rank);
            placed_for_ = gpus_of_rank;
        }
        return placements_;
    }

    void fill_node(const std::string& host, std::vector<RankSlot> slots) {
        std::vector<std::vector<int>> known;
        for (const auto& slot : slots) {
            std::vector<int> indices;
            for (const auto& device : slot.devices)
                if (device.index) indices.push_back(*device.index);
            known.push_back(indices);
        }
        const auto placements =
            plan_.nodes_place_themselves
                ? std::vector<topology::Placement>(slots.size(), {.reason = "as its node has them"})
                : placed(known);
        NodePlan node{.host = host, .cuda_visible_devices = ids_of(plan_.narrow ? selected_ : visible_)};
        for (std::size_t local = 0; local < slots.size(); ++local) {
            const auto& placement = placements[local];
            auto& rank = slots[local].plan;
            rank.local_rank = static_cast<int>(local);
            rank.reason = placement.reason;
            for (const auto& device : slots[local].devices) {
                rank.gpus.push_back(device.id);
                rank.assignment.devices.push_back(position_of(device));
                if (!device.index && !plan_.nodes_place_themselves)
                    rank.reason = "GPU that this machine does not show, " + placement.reason;
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
        if (plan_.nodes_place_themselves) return;
        if (plan_.nodes.size() > 1) plan_.warnings.emplace_back(others_are_alike);
        if (!plan_.own_node)
            plan_.warnings.emplace_back("this machine is none of the nodes; --host ADDRESS tells which");
    }

    const PlanInput& input_;
    const Options& options_;
    Devices visible_;
    Devices selected_;
    std::vector<std::vector<int>> placed_for_;
    std::vector<topology::Placement> placements_;
    Plan plan_;
};

}  // namespace

int Plan::size() const {
    int total = 0;
    for (const auto& node : nodes) total += static_cast<int>(node.ranks.size());
    return total;
}

std::vector<std::string> Plan::hosts() const {
    std::vector<std::string> out;
    for (const auto& node : nodes) out.push_back(node.host);
    return out;
}

std::vector<const RankPlan*> Plan::ranks() const {
    std::vector<const RankPlan*> out(static_cast<std::size_t>(size()));
    for (const auto& node : nodes)
        for (const auto& rank : node.ranks) out[static_cast<std::size_t>(rank.rank)] = &rank;
    return out;
}

std::vector<int> Plan::nodes_of_ranks() const {
    std::vector<int> out(static_cast<std::size_t>(size()));
    for (std::size_t node = 0; node < nodes.size(); ++node)
        for (const auto& rank : nodes[node].ranks)
            out[static_cast<std::size_t>(rank.rank)] = static_cast<int>(node);
    return out;
}

bool Plan::is_numbered_by_node() const {
    const auto of_ranks = nodes_of_ranks();
    return std::is_sorted(of_ranks.begin(), of_ranks.end());
}

Plan make_plan(const PlanInput& input) {
    return PlanMaker(input).plan();
}

}  // namespace dtrain::launch
