// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "topology/machine.hpp"

#include <algorithm>
#include <tuple>

#include "base/host.hpp"

namespace dtrain::topology {
namespace {

std::vector<hwloc_obj_t> objects(hwloc_topology_t topology, hwloc_obj_type_t type) {
    std::vector<hwloc_obj_t> out;
    for (hwloc_obj_t object = nullptr;
         (object = hwloc_get_next_obj_by_type(topology, type, object)) != nullptr;)
        out.push_back(object);
    return out;
}

std::string hostname_of(hwloc_topology_t topology) {
    if (hwloc_topology_is_thissystem(topology) != 0) return host_name();
#if HWLOC_API_VERSION >= 0x00030000
    const char* name = hwloc_get_info_by_name(hwloc_topology_get_infos(topology), "HostName");
#else
    const char* name = hwloc_obj_get_info_by_name(hwloc_get_root_obj(topology), "HostName");
#endif
    return name != nullptr ? name : "";
}

CpuSet allowed_of(hwloc_topology_t topology) {
    return to_cpuset(hwloc_topology_get_allowed_cpuset(topology)) &
           to_cpuset(hwloc_topology_get_topology_cpuset(topology));
}

std::vector<NumaNode> numa_nodes_of(hwloc_topology_t topology, const CpuSet& allowed) {
    std::vector<NumaNode> nodes;
    for (const auto* object : objects(topology, HWLOC_OBJ_NUMANODE))
        nodes.push_back({.os_index = static_cast<int>(object->os_index),
                         .cpus = to_cpuset(object->cpuset) & allowed,
                         .memory_bytes = object->attr->numanode.local_memory});
    return nodes;
}

/// The hardware threads of each core; if the machine or its description has no cores, each thread is its own
/// core.
std::vector<CpuSet> threads_of_cores(hwloc_topology_t topology, const CpuSet& allowed) {
    std::vector<CpuSet> cores;
    CpuSet rest = allowed;
    for (const auto* object : objects(topology, HWLOC_OBJ_CORE)) {
        const CpuSet cpus = to_cpuset(object->cpuset) & rest;
        if (cpus.empty()) continue;
        cores.push_back(cpus);
        rest = rest - cpus;
    }
    for (const int cpu : rest.members()) cores.push_back(CpuSet::range(cpu, cpu));
    return cores;
}

/// The index in `nodes` of the memory node nearest to the processor: the one with the fewest processors,
/// since one that is attached to a whole package (CXL) has more, then the lowest number, since HBM comes
/// after DRAM. nodes.size() if there is none.
std::size_t nearest_node(const std::vector<NumaNode>& nodes, int cpu) {
    std::size_t best = nodes.size();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (!nodes[i].cpus.contains(cpu)) continue;
        const auto rank = [&](std::size_t at) {
            return std::tuple(nodes[at].cpus.count(), nodes[at].os_index);
        };
        if (best == nodes.size() || rank(i) < rank(best)) best = i;
    }
    return best;
}

int package_of(const std::vector<CpuSet>& packages, int cpu) {
    for (std::size_t i = 0; i < packages.size(); ++i)
        if (packages[i].contains(cpu)) return static_cast<int>(i);
    return 0;
}

std::vector<Core> cores_of(hwloc_topology_t topology, const CpuSet& allowed,
                           const std::vector<NumaNode>& nodes) {
    std::vector<CpuSet> packages;
    for (const auto* object : objects(topology, HWLOC_OBJ_PACKAGE))
        packages.push_back(to_cpuset(object->cpuset));

    struct Found {
        std::size_t node;
        Core core;
    };
    std::vector<Found> found;
    for (const auto& cpus : threads_of_cores(topology, allowed)) {
        const int cpu = cpus.members().front();
        const std::size_t node = nearest_node(nodes, cpu);
        found.push_back({node,
                         {.package = package_of(packages, cpu),
                          .numa = node < nodes.size() ? nodes[node].os_index : -1,
                          .cpus = cpus}});
    }
    std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
        return std::tie(a.core.package, a.node) < std::tie(b.core.package, b.node);
    });
    std::vector<Core> cores;
    cores.reserve(found.size());
    for (auto& entry : found) cores.push_back(std::move(entry.core));
    return cores;
}

}  // namespace

Machine read_machine(const HwlocTopology& topology) {
    Machine machine;
    machine.hostname = hostname_of(topology.get());
    machine.is_this_system = hwloc_topology_is_thissystem(topology.get()) != 0;
    machine.allowed = allowed_of(topology.get());
    machine.numa_nodes = numa_nodes_of(topology.get(), machine.allowed);
    machine.cores = cores_of(topology.get(), machine.allowed, machine.numa_nodes);
    return machine;
}

}  // namespace dtrain::topology
