// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <dtrain/topology.hpp>

namespace dtrain::topology {

Machine restricted(Machine machine, const CpuSet& cpus) {
    const auto limit = [&](CpuSet& set) { set = set & cpus; };
    limit(machine.allowed);
    for (auto& core : machine.cores) limit(core.cpus);
    std::erase_if(machine.cores, [](const Core& core) { return core.cpus.empty(); });
    for (auto& node : machine.numa_nodes) limit(node.cpus);
    for (auto& gpu : machine.gpus) limit(gpu.local_cpus);
    for (auto& adapter : machine.adapters) limit(adapter.local_cpus);
    return machine;
}

}  // namespace dtrain::topology
