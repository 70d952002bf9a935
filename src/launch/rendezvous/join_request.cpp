// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/rendezvous/join_request.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include <dtrain/version.hpp>

#include "base/redact.hpp"
#include "base/text.hpp"
#include "identity/host_name.hpp"
#include "protocol/assignment.hpp"
#include "protocol/rank_list.hpp"

namespace dtrain::launch {
namespace {

const NodePlan& node_of(const Plan& plan, int node) {
    return plan.nodes[static_cast<std::size_t>(node)];
}

std::size_t count_of_gpus(const std::vector<std::vector<std::string>>& ranks) {
    std::size_t count = 0;
    for (const auto& gpus : ranks) count += gpus.size();
    return count;
}

std::vector<std::vector<std::string>> gpus_of(const NodePlan& node) {
    std::vector<std::vector<std::string>> out;
    for (const auto& rank : node.ranks) out.push_back(rank.gpus);
    return out;
}

const transport::Refused another_job{.reason = "this is another job", .of_another_job = true};

std::vector<std::string> sorted(std::vector<std::string> args) {
    std::sort(args.begin(), args.end());
    return args;
}

std::optional<transport::Refused> not_capable(const transport::JoinRequest& request) {
    if (request.version != version)
        return transport::Refused{fmt::format("it has dtrain {}, node 0 has {}", request.version, version)};
    constexpr std::size_t max_reason = 300;
    if (request.unable) return transport::Refused{one_line(*request.unable, max_reason)};
    return std::nullopt;
}

/// In a parameter-server job the ranks of a node are not contiguous.
std::string members_text(const NodePlan& node) {
    std::vector<std::string> parts;
    for (const auto role : {cluster::Role::server, cluster::Role::worker, cluster::Role::heter_worker}) {
        std::vector<std::string> numbers;
        for (const auto& rank : node.ranks)
            if (rank.role == role) numbers.push_back(std::to_string(rank.index));
        if (numbers.empty()) continue;
        const auto name = role == cluster::Role::heter_worker ? "heterogeneous worker" : to_string(role);
        parts.push_back(plural(numbers.size(), name) + " " +
                        cluster::RankList::parse(join(numbers, ",")).to_string());
    }
    return join(parts, ", ");
}

std::optional<transport::Refused> other_members(const transport::JoinRequest& request, bool with_servers) {
    if (request.servers.has_value() != with_servers)
        return transport::Refused{
            fmt::format("its job has {}parameter servers, node 0's has {}; give all nodes the same "
                        "--run_mode, or a --server_num "
                        "and a --worker_num each",
                        request.servers ? "" : "no ", with_servers ? "some" : "none")};
    if (request.servers &&
        (*request.servers < 1 || static_cast<std::size_t>(*request.servers) >= request.ranks.size()))
        return transport::Refused{
            fmt::format("{} servers cannot be among its {} ranks", *request.servers, request.ranks.size())};
    return std::nullopt;
}

std::optional<transport::Refused> other_mode(const transport::JoinRequest& request, RunMode mode) {
    const auto own = to_string(mode);
    if (request.run_mode == own) return std::nullopt;
    return transport::Refused{fmt::format("its --run_mode is {}, node 0's {}; give all nodes the same",
                                          one_line(request.run_mode, 300), own)};
}

int servers_of(const NodePlan& node) {
    return static_cast<int>(std::count_if(node.ranks.begin(), node.ranks.end(), [](const auto& rank) {
        return rank.role == cluster::Role::server;
    }));
}

std::string in_quotes(const std::string& arg) {
    constexpr std::size_t max_shown = 300;
    return '"' + one_line(arg, max_shown) + '"';
}

/// The first argument that differs from node 0's command; "" if there is none.
std::string other_word(std::vector<std::string> own, std::vector<std::string> of_coordinator) {
    const auto [at, at_coordinator] =
        std::mismatch(own.begin(), own.end(), of_coordinator.begin(), of_coordinator.end());
    if (at == own.end() && at_coordinator == of_coordinator.end()) return "";
    const auto index = static_cast<std::size_t>(at - own.begin());
    own = redacted_arguments(own);
    of_coordinator = redacted_arguments(of_coordinator);
    if (index == own.size()) return fmt::format("without node 0's {}", in_quotes(of_coordinator[index]));
    if (index == of_coordinator.size())
        return fmt::format("with {}, which node 0 has not", in_quotes(own[index]));
    return fmt::format("with {} in place of node 0's {}", in_quotes(own[index]),
                       in_quotes(of_coordinator[index]));
}

}  // namespace

transport::JoinRequest join_request_of(const Plan& plan, const Options& options, const std::string& host_name,
                                       int nodes_at_master) {
    transport::JoinRequest request{.version = version,
                                   .host_name = host_name,
                                   .log_dir = plan.log_dir,
                                   .job_id = plan.job_id,
                                   .run_mode = to_string(plan.mode),
                                   .program = plan.program,
                                   .working_dir = plan.working_dir,
                                   .check = options.check};
    if (nodes_at_master == 0) {
        request.nodes = plan.hosts();
        request.node_count = static_cast<int>(request.nodes.size());
    }
    if (!plan.own_node) return request;
    const auto& own = node_of(plan, *plan.own_node);
    if (nodes_at_master > 0) {
        request.node_count = nodes_at_master;
        request.address = options.host.value_or("");
        if (options.rank && *options.rank >= 0) request.wanted_node = options.rank;
    } else {
        request.address = own.host;
    }
    request.ranks = gpus_of(own);
    if (plan.servers) request.servers = servers_of(own);
    request.visible_gpus = own.cuda_visible_devices;
    std::vector<cluster::RankAssignment> assignments;
    for (const auto& rank : own.ranks) assignments.push_back(rank.assignment);
    Environment variables;
    cluster::write_assignments(variables, {assignments});
    for (const auto& [name, value] : variables) request.assignments[name] = value;
    return request;
}

transport::Admission admit_named(const transport::JoinRequest& request, const Plan& plan) {
    const auto hosts = plan.hosts();
    const bool same_nodes = sorted(request.nodes) == sorted(hosts);
    if (request.leads && (!same_nodes || request.job_id != plan.job_id)) return another_job;
    if (auto refused = not_capable(request)) return *refused;
    if (same_nodes && request.nodes != hosts)
        return transport::Refused{
            fmt::format("its nodes stand in the order {}, node 0's in the order {}; give all nodes the same "
                        "list, in the same order",
                        join(request.nodes, ","), join(hosts, ","))};
    if (request.nodes != hosts)
        return transport::Refused{
            fmt::format("it was started for the nodes {}, node 0 for {}; give all nodes the same list",
                        join(request.nodes, ","), join(hosts, ","))};
    const auto found = std::find(hosts.begin(), hosts.end(), request.address);
    if (found == hosts.end())
        return transport::Refused{
            fmt::format("its own address is none of the nodes {}; name it with --host", join(hosts, ","))};
    const auto node = static_cast<int>(found - hosts.begin());
    if (node == 0)
        return transport::Refused{fmt::format(
            "it takes itself for node 0, which is {}; name its own address with --host", hosts.front())};
    if (auto refused = other_mode(request, plan.mode)) return *refused;
    const auto expected = gpus_of(node_of(plan, node));
    if (request.ranks.size() != expected.size())
        return transport::Refused{
            fmt::format("it has {} {}, and {} {} would be its part of node 0's plan; give all nodes the "
                        "same --gpus and --nproc_per_node",
                        request.ranks.size(), plural(request.ranks.size(), "rank"), expected.size(),
                        plural(expected.size(), "rank"))};
    if (const int servers = servers_of(node_of(plan, node)); request.servers.value_or(0) != servers)
        return transport::Refused{
            fmt::format("it has {} {}, and {} would be its part of node 0's plan; give all nodes the same "
                        "--servers and --workers",
                        request.servers.value_or(0), plural(request.servers.value_or(0), "server"), servers)};
    if (count_of_gpus(request.ranks) != count_of_gpus(expected))
        return transport::Refused{
            fmt::format("it has {} GPUs for its ranks, node 0 has {}; choose as many on each with "
                        "--gpus",
                        count_of_gpus(request.ranks), count_of_gpus(expected))};
    return node;
}

transport::Admission admit_at_master(const transport::JoinRequest& request, int count, RunMode mode,
                                     const std::map<int, std::optional<int>>& wanted_by_others) {
    if (request.leads) return another_job;
    if (auto refused = not_capable(request)) return *refused;
    if (!request.nodes.empty())
        return transport::Refused{
            fmt::format("it was started with --ips {}, node 0 without; give all nodes the same options",
                        join(request.nodes, ","))};
    if (!request.address.empty() && !cluster::is_host(request.address))
        return transport::Refused{
            fmt::format("its --host \"{}\" is no address", one_line(request.address, 300))};
    if (request.node_count != count)
        return transport::Refused{
            fmt::format("it was started with --nnodes {}, node 0 with {}; give all nodes the same",
                        request.node_count, count)};
    if (auto refused = other_members(request, has_servers(mode))) return *refused;
    if (auto refused = other_mode(request, mode)) return *refused;
    if (const auto& wanted = request.wanted_node) {
        if (*wanted < 1 || *wanted >= count)
            return transport::Refused{
                fmt::format("--rank {} is not in 1..{} of the nodes besides node 0", *wanted, count - 1)};
        for (const auto& [node, other] : wanted_by_others)
            if (other == wanted)
                return transport::Refused{fmt::format("another node has --rank {} already", *wanted)};
    }
    for (int node = 1; node < count; ++node)
        if (!wanted_by_others.contains(node)) return node;
    return transport::Refused{fmt::format("all {} nodes are here already", count)};
}

std::vector<int> numbered(const std::vector<std::optional<int>>& wanted) {
    std::vector<int> out(wanted.size(), 0);
    std::set<int> taken{0};
    for (const auto& each : wanted)
        if (each) taken.insert(*each);
    int free = 0;
    for (std::size_t node = 1; node < wanted.size(); ++node) {
        if (wanted[node]) {
            out[node] = *wanted[node];
            continue;
        }
        while (taken.contains(free)) ++free;
        taken.insert(free);
        out[node] = free;
    }
    return out;
}

transport::Accepted accepted_of(const Plan& plan, int node) {
    const auto& ranks = node_of(plan, node).ranks;
    return {.node = node,
            .nodes = static_cast<int>(plan.nodes.size()),
            .first_rank = ranks.empty() ? 0 : ranks.front().rank,
            .ranks = static_cast<int>(ranks.size()),
            .members = plan.servers ? members_text(node_of(plan, node)) : ""};
}

Plan with_info(Plan plan, const std::map<int, transport::JoinRequest>& requests) {
    for (const auto& [number, request] : requests) {
        auto& node = plan.nodes[static_cast<std::size_t>(number)];
        node.cuda_visible_devices = request.visible_gpus;
        node.log_dir = request.log_dir;
        node.working_dir = request.working_dir;
        Environment variables;
        for (const auto& [name, value] : request.assignments) variables.set(name, value);
        const auto assignments = cluster::read_assignments(variables, 0);
        for (std::size_t local = 0; local < node.ranks.size(); ++local) {
            if (local < request.ranks.size()) node.ranks[local].gpus = request.ranks[local];
            if (assignments && local < assignments->size())
                node.ranks[local].assignment = (*assignments)[local];
        }
    }
    return plan;
}

std::optional<std::string> own_command(const transport::JoinRequest& request, const Plan& plan) {
    auto out = other_word(request.program, plan.program);
    if (request.working_dir != plan.working_dir)
        out += fmt::format("{}in {}, node 0 in {}", out.empty() ? "" : ", ", in_quotes(request.working_dir),
                           in_quotes(plan.working_dir));
    return out.empty() ? std::nullopt : std::optional(out);
}

std::optional<std::string> own_commands(const std::map<int, transport::JoinRequest>& requests,
                                        const Plan& plan) {
    std::optional<std::string> first;
    std::size_t others = 0;
    for (const auto& [node, request] : requests) {
        const auto own = own_command(request, plan);
        if (own && first) ++others;
        if (own && !first)
            first =
                fmt::format("node {} ({}) runs its own command, {}", node, node_of(plan, node).host, *own);
    }
    if (others > 0) *first += fmt::format("; {} more {} likewise", others, others == 1 ? "does" : "do");
    return first;
}

std::string part_text(const transport::Accepted& accepted) {
    const auto last = accepted.first_rank + accepted.ranks - 1;
    const auto ranks = !accepted.members.empty() ? accepted.members
                       : accepted.ranks == 0     ? std::string("no ranks")
                       : accepted.ranks == 1     ? fmt::format("rank {}", last)
                                                 : fmt::format("ranks {}-{}", accepted.first_rank, last);
    return fmt::format("node {} of {}: {}{}", accepted.node, accepted.nodes, ranks,
                       accepted.by_ssh
                           ? ", started over ssh before this launcher came, with node 0's command and folder"
                           : "");
}

}  // namespace dtrain::launch
