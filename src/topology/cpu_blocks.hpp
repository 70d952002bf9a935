// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include <dtrain/topology.hpp>

namespace dtrain::topology {

/// A set of processors for one rank: a core, a hardware thread, or all processors of a rank.
struct CpuBlock {
    CpuSet cpus;
    int numa = -1;
};

/// The cores of the machine that are at least partly in the set, limited to it, in the machine's order.
std::vector<CpuBlock> cores_within(const Machine& machine, const CpuSet& set);
std::vector<CpuBlock> threads_within(const Machine& machine, const CpuSet& set);

/// `parts` contiguous blocks of units, whose sizes differ by at most one, larger ones first. Requires at
/// least as many units as parts.
std::vector<CpuBlock> in_blocks(const std::vector<CpuBlock>& units, std::size_t parts);

/// Contiguous blocks aligned to memory nodes: with fewer parts than nodes, each block consists of whole
/// nodes; else each node gets parts in proportion to its units (largest remainder), which are blocks of its
/// units. Requires at least as many units as parts.
std::vector<CpuBlock> over_memory_nodes(const std::vector<CpuBlock>& units, std::size_t parts);

}  // namespace dtrain::topology
