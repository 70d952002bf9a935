// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "topology/nearest_adapter.hpp"

#include <algorithm>
#include <set>
#include <tuple>

namespace dtrain::topology {
namespace {

enum class Nearness { unknown, same_package, same_locality, same_switch };

std::set<int> packages_of(const Machine& machine, const CpuSet& cpus) {
    std::set<int> packages;
    for (const auto& core : machine.cores)
        if (core.cpus.intersects(cpus)) packages.insert(core.package);
    return packages;
}

bool in_one_package(const Machine& machine, const CpuSet& a, const CpuSet& b) {
    const auto packages = packages_of(machine, b);
    return std::ranges::any_of(packages_of(machine, a),
                               [&](int package) { return packages.contains(package); });
}

/// Virtual machines show no switches, but put a GPU and its adapter on the same bus.
bool share_a_switch(const Gpu& gpu, const NetworkAdapter& adapter) {
    const bool same_bus = gpu.pci.domain == adapter.pci.domain && gpu.pci.bus == adapter.pci.bus;
    return same_bus || (gpu.root_port && gpu.root_port == adapter.root_port);
}

Nearness nearness(const Machine& machine, const Placement& rank, const NetworkAdapter& adapter) {
    CpuSet near_gpus;
    for (const int index : rank.gpus) {
        const Gpu& gpu = machine.gpus[static_cast<std::size_t>(index)];
        if (share_a_switch(gpu, adapter)) return Nearness::same_switch;
        near_gpus = near_gpus | gpu.local_cpus;
    }
    const CpuSet& cpus = near_gpus.empty() ? rank.cpus : near_gpus;
    if (adapter.local_cpus.intersects(cpus)) return Nearness::same_locality;
    return in_one_package(machine, adapter.local_cpus, cpus) ? Nearness::same_package : Nearness::unknown;
}

}  // namespace

void choose_adapters(const Machine& machine, std::vector<Placement>& placements) {
    std::vector<int> users(machine.adapters.size());
    for (auto& rank : placements) {
        std::size_t best = machine.adapters.size();
        std::tuple<bool, Nearness, int> best_value;
        for (std::size_t i = 0; i < machine.adapters.size(); ++i) {
            const auto& adapter = machine.adapters[i];
            const std::tuple value(adapter.rdma, nearness(machine, rank, adapter), -users[i]);
            if (best < machine.adapters.size() && value <= best_value) continue;
            best = i;
            best_value = value;
        }
        if (best == machine.adapters.size()) continue;
        rank.adapter = machine.adapters[best].name;
        ++users[best];
    }
}

}  // namespace dtrain::topology
