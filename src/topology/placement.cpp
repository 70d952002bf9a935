// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <tuple>

#include <fmt/format.h>

#include <dtrain/error.hpp>
#include <dtrain/topology.hpp>

#include "base/text.hpp"
#include "topology/cpu_blocks.hpp"
#include "topology/nearest_adapter.hpp"

namespace dtrain::topology {
namespace {

/// Ranks for which the same processors are nearest.
struct Group {
    CpuSet domain;
    std::vector<std::size_t> ranks;
    bool has_cpu_ranks = false;
};

const Gpu& gpu_of(const Machine& machine, int index) {
    if (index < 0 || index >= static_cast<int>(machine.gpus.size()))
        throw UsageError(machine.gpus.empty()
                             ? fmt::format("GPU {} was asked for, but this machine shows no GPU", index)
                             : fmt::format("GPU {} was asked for, but this machine has GPUs 0-{}", index,
                                           machine.gpus.size() - 1));
    return machine.gpus[static_cast<std::size_t>(index)];
}

std::string names_of(const std::vector<int>& gpus) {
    std::vector<std::string> numbers;
    for (const int gpu : gpus) numbers.push_back(std::to_string(gpu));
    return (gpus.size() == 1 ? "GPU " : "GPUs ") + join(numbers, ",");
}

/// The processors near the rank's GPUs, and the reason for this choice.
CpuSet domain_of(const Machine& machine, const std::vector<int>& gpus, std::string& reason) {
    if (gpus.empty()) {
        reason = "CPU rank";
        return machine.allowed;
    }
    CpuSet near;
    bool lost = false;
    for (const int index : gpus) {
        const Gpu& gpu = gpu_of(machine, index);
        near = near | (gpu.local_cpus & machine.allowed);
        lost = lost || (gpu.has_locality && gpu.local_cpus.empty());
    }
    if (!near.empty()) {
        reason = "near " + names_of(gpus);
        return near;
    }
    reason = lost ? fmt::format("any core: none near {} is allowed here", names_of(gpus))
                  : fmt::format("any core: the machine does not tell which are near {}", names_of(gpus));
    return machine.allowed;
}

/// Smaller domains come first: ranks with fewer alternatives choose first.
std::vector<Group> groups_of(const Machine& machine, std::span<const std::vector<int>> gpus_of_rank,
                             std::vector<Placement>& placements) {
    std::vector<Group> groups;
    for (std::size_t rank = 0; rank < gpus_of_rank.size(); ++rank) {
        placements[rank].gpus = gpus_of_rank[rank];
        const CpuSet domain = domain_of(machine, gpus_of_rank[rank], placements[rank].reason);
        auto group = std::find_if(groups.begin(), groups.end(),
                                  [&](const Group& known) { return known.domain == domain; });
        if (group == groups.end()) group = groups.insert(groups.end(), {.domain = domain});
        group->ranks.push_back(rank);
        group->has_cpu_ranks = group->has_cpu_ranks || gpus_of_rank[rank].empty();
    }
    std::sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
        return std::tuple(a.domain.count(), a.domain.members().front()) <
               std::tuple(b.domain.count(), b.domain.members().front());
    });
    return groups;
}

/// Gives each rank of the group its block of the processors that earlier groups left; if too few are left,
/// the ranks share the group's domain.
void assign_blocks(const Machine& machine, const Group& group, CpuSet& taken,
                   std::vector<Placement>& placements) {
    const std::size_t ranks = group.ranks.size();
    const CpuSet free = group.domain - taken;
    std::vector<CpuBlock> units = cores_within(machine, free);
    std::string how;
    if (units.size() < ranks) {
        units = threads_within(machine, free);
        how = ", by hardware thread as there are more ranks than cores";
    }
    if (units.size() < ranks) {
        how = free == group.domain
                  ? fmt::format(", all shared: {} ranks for {} hardware threads", ranks, group.domain.count())
                  : std::string(", shared: other ranks took these cores first");
        for (const auto rank : group.ranks) placements[rank].cpus = group.domain;
    } else {
        const auto blocks = group.has_cpu_ranks ? over_memory_nodes(units, ranks) : in_blocks(units, ranks);
        for (std::size_t i = 0; i < ranks; ++i) placements[group.ranks[i]].cpus = blocks[i].cpus;
        if (how.empty() && ranks > 1) how = fmt::format(", cores divided among {} ranks", ranks);
    }
    for (const auto rank : group.ranks) {
        placements[rank].reason += how;
        taken = taken | placements[rank].cpus;
    }
}

/// The number of cores in the set; a core of which it has only some hardware threads counts as a fraction.
double whole_cores(const std::vector<CpuBlock>& all_cores, const CpuSet& cpus) {
    double cores = 0;
    for (const auto& core : all_cores)
        if (const int used = (core.cpus & cpus).count(); used != 0)
            cores += static_cast<double>(used) / core.cpus.count();
    return cores;
}

void count_threads(const Machine& machine, std::vector<Placement>& placements) {
    const auto all_cores = cores_within(machine, machine.allowed);
    for (auto& placement : placements) {
        const auto sharing = std::count_if(placements.begin(), placements.end(), [&](const Placement& other) {
            return other.cpus.intersects(placement.cpus);
        });
        placement.shared = sharing > 1;
        constexpr double rounding = 1e-9;
        const double cores = whole_cores(all_cores, placement.cpus) / static_cast<double>(sharing);
        placement.threads = std::max(1, static_cast<int>(std::floor(cores + rounding)));
    }
}

std::vector<int> numa_nodes_of(const Machine& machine, const CpuSet& cpus) {
    std::vector<int> nodes;
    for (const auto& core : machine.cores)
        if (core.numa >= 0 && core.cpus.intersects(cpus)) nodes.push_back(core.numa);
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    return nodes;
}

}  // namespace

std::vector<Placement> place(const Machine& machine, std::span<const std::vector<int>> gpus_of_rank) {
    if (machine.allowed.empty())
        throw Error(
            "no processor is left for this job: cgroup, container and affinity mask have none in common");
    std::vector<Placement> placements(gpus_of_rank.size());
    CpuSet taken;
    for (const auto& group : groups_of(machine, gpus_of_rank, placements))
        assign_blocks(machine, group, taken, placements);
    count_threads(machine, placements);
    for (auto& placement : placements) placement.numa_nodes = numa_nodes_of(machine, placement.cpus);
    choose_adapters(machine, placements);
    return placements;
}

}  // namespace dtrain::topology
