// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "topology/cpu_blocks.hpp"

#include <algorithm>
#include <numeric>

namespace dtrain::topology {
namespace {

std::vector<std::vector<CpuBlock>> by_memory_node(const std::vector<CpuBlock>& units) {
    std::vector<std::vector<CpuBlock>> nodes;
    for (const auto& unit : units) {
        auto node = std::find_if(nodes.begin(), nodes.end(), [&](const std::vector<CpuBlock>& known) {
            return known.front().numa == unit.numa;
        });
        if (node == nodes.end()) node = nodes.insert(nodes.end(), std::vector<CpuBlock>{});
        node->push_back(unit);
    }
    return nodes;
}

/// Distributes `slots` in proportion to the weights, by the largest remainder method; ties go to the first.
std::vector<std::size_t> apportioned(const std::vector<std::size_t>& weights, std::size_t slots) {
    const auto total = std::accumulate(weights.begin(), weights.end(), std::size_t{0});
    std::vector<std::size_t> out, order(weights.size());
    for (const auto weight : weights) out.push_back(weight * slots / total);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return weights[a] * slots % total > weights[b] * slots % total;
    });
    const auto given = std::accumulate(out.begin(), out.end(), std::size_t{0});
    for (std::size_t i = 0; i < slots - given; ++i) ++out[order[i]];
    return out;
}

}  // namespace

std::vector<CpuBlock> cores_within(const Machine& machine, const CpuSet& set) {
    std::vector<CpuBlock> cores;
    CpuSet rest = set;
    for (const auto& core : machine.cores) {
        CpuSet cpus = core.cpus & set;
        if (cpus.empty()) continue;
        rest = rest - cpus;
        cores.push_back({std::move(cpus), core.numa});
    }
    for (const int cpu : rest.members()) cores.push_back({CpuSet::range(cpu, cpu), -1});
    return cores;
}

std::vector<CpuBlock> threads_within(const Machine& machine, const CpuSet& set) {
    std::vector<CpuBlock> threads;
    for (const auto& core : cores_within(machine, set))
        for (const int cpu : core.cpus.members()) threads.push_back({CpuSet::range(cpu, cpu), core.numa});
    return threads;
}

std::vector<CpuBlock> in_blocks(const std::vector<CpuBlock>& units, std::size_t parts) {
    std::vector<CpuBlock> blocks;
    std::size_t next = 0;
    for (std::size_t part = 0; part < parts; ++part) {
        const std::size_t size = units.size() / parts + (part < units.size() % parts ? 1 : 0);
        CpuBlock block{.numa = units[next].numa};
        for (std::size_t i = 0; i < size; ++i) block.cpus = block.cpus | units[next++].cpus;
        blocks.push_back(std::move(block));
    }
    return blocks;
}

std::vector<CpuBlock> over_memory_nodes(const std::vector<CpuBlock>& units, std::size_t parts) {
    const auto nodes = by_memory_node(units);
    std::vector<CpuBlock> out;
    if (parts < nodes.size()) {
        std::vector<CpuBlock> whole;
        for (const auto& node : nodes) whole.push_back(in_blocks(node, 1).front());
        return in_blocks(whole, parts);
    }
    std::vector<std::size_t> sizes;
    for (const auto& node : nodes) sizes.push_back(node.size());
    const auto parts_of_node = apportioned(sizes, parts);
    for (std::size_t i = 0; i < nodes.size(); ++i)
        for (auto& block : in_blocks(nodes[i], parts_of_node[i])) out.push_back(std::move(block));
    return out;
}

}  // namespace dtrain::topology
