// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/check/check_plan.hpp"

#include <filesystem>
#include <set>

#include "base/shell_args.hpp"
#include "launch/backend/registry.hpp"
#include "launch/rendezvous/ssh_probe.hpp"

namespace dtrain::launch {
namespace {

constexpr int max_in_all_pairs = 32;
constexpr int nodes_in_wave = 128;
constexpr int next_neighbours = 2;

}  // namespace

std::string way_to(const CheckSite& site, int node) {
    const auto& plan = site.plan;
    if (backend_named(plan.engine).uses_schedulers_daemons()) return plan.engine;
    if (plan.own_node == node) return "here";
    if (site.launchers && site.launchers->is_connected(node)) return "launcher";
    return plan.remote_shell.empty() ? "ssh" : std::filesystem::path(plan.remote_shell).filename().string();
}

std::vector<std::string> check_command(const CheckSite& site, int node, const std::string& coordinator,
                                       const CallBack& call_back) {
    const auto& plan = site.plan;
    const auto& host = plan.nodes[static_cast<std::size_t>(node)].host;
    const auto way = way_to(site, node);
    if (way == "here") return {site.program};
    if (way == "ssh") return ssh_command(host, shell_quoted(site.program));
    if (const auto& backend = backend_named(plan.engine); backend.uses_schedulers_daemons())
        return backend.command_on_node(plan, host, site.program);
    return {plan.remote_shell, host,
            site.program,      "--call",
            coordinator,       std::to_string(call_back.port),
            call_back.nonce,   std::to_string(node)};
}

std::vector<std::vector<int>> check_waves(int nodes) {
    std::vector<std::vector<int>> waves;
    for (int node = 0; node < nodes; ++node) {
        if (node % nodes_in_wave == 0) waves.emplace_back();
        waves.back().push_back(node);
    }
    return waves;
}

std::map<int, std::vector<int>> probe_targets(const std::vector<int>& nodes, int centre, int all) {
    std::map<int, std::set<int>> pairs;
    const auto add = [&](int one, int other) {
        if (one == other) return;
        pairs[one].insert(other);
        pairs[other].insert(one);
    };
    const auto reach = all <= max_in_all_pairs ? nodes.size() : next_neighbours;
    for (std::size_t index = 0; index < nodes.size(); ++index) {
        add(nodes[index], centre);
        for (std::size_t step = 1; step <= reach && index + step < nodes.size(); ++step)
            add(nodes[index], nodes[index + step]);
    }
    std::map<int, std::vector<int>> out;
    for (const auto& [node, others] : pairs) out[node] = {others.begin(), others.end()};
    return out;
}

}  // namespace dtrain::launch
