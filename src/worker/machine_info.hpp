// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <dtrain/topology.hpp>

#include "topology/gpu_health.hpp"

/// Small helpers on a machine that both forms of the report use.
namespace dtrain::worker {

inline int packages_of(const topology::Machine& machine) {
    std::set<int> packages;
    for (const auto& core : machine.cores) packages.insert(core.package);
    return static_cast<int>(packages.size());
}

inline int cores_in(const topology::Machine& machine, const CpuSet& cpus) {
    return static_cast<int>(
        std::count_if(machine.cores.begin(), machine.cores.end(),
                      [&](const topology::Core& core) { return core.cpus.intersects(cpus); }));
}

inline std::vector<int> numa_nodes_near(const topology::Machine& machine, const CpuSet& cpus) {
    std::set<int> nodes;
    for (const auto& core : machine.cores)
        if (core.numa >= 0 && core.cpus.intersects(cpus)) nodes.insert(core.numa);
    return {nodes.begin(), nodes.end()};
}

/// The adapter that a rank with only this GPU would get, or "".
inline std::string adapter_near(const topology::Machine& machine, const topology::Gpu& gpu) {
    if (machine.allowed.empty()) return "";
    const std::vector<std::vector<int>> one_rank = {{gpu.index}};
    return topology::place(machine, one_rank).front().adapter;
}

/// Null if the driver reports nothing about this GPU.
inline const topology::GpuHealth* health_of(const topology::Gpu& gpu,
                                            const std::vector<topology::GpuHealth>& health) {
    const auto found = std::ranges::find(health, gpu.pci, &topology::GpuHealth::pci);
    return found == health.end() ? nullptr : &*found;
}

/// GPUs that the driver reports but the machine's topology does not, for example in a container without their
/// buses.
inline std::vector<topology::GpuHealth> other_gpus(const topology::Machine& machine,
                                                   const std::vector<topology::GpuHealth>& health) {
    std::vector<topology::GpuHealth> others;
    for (const auto& each : health)
        if (std::ranges::find(machine.gpus, each.pci, &topology::Gpu::pci) == machine.gpus.end())
            others.push_back(each);
    return others;
}

}  // namespace dtrain::worker
