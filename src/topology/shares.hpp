// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include <dtrain/topology.hpp>

namespace dtrain::topology {

/// Something that is given to one rank: a core, a hardware thread, or what a rank gets in the end.
struct Share {
    CpuSet cpus;
    int numa = -1;
};

/// The cores of the machine that are in the set at least in part, limited to it, in the machine's order.
std::vector<Share> cores_within(const Machine& machine, const CpuSet& set);
std::vector<Share> threads_within(const Machine& machine, const CpuSet& set);

/// `parts` contiguous blocks of units, whose sizes differ by at most one, the larger ones first.
/// Needs at least as many units as parts.
std::vector<Share> in_blocks(const std::vector<Share>& units, std::size_t parts);

/// Contiguous blocks that respect memory nodes: with fewer parts than nodes each gets a block of whole nodes,
/// else each node gets parts in proportion to its units (largest remainder), which divide them in blocks.
/// Needs at least as many units as parts.
std::vector<Share> over_memory_nodes(const std::vector<Share>& units, std::size_t parts);

}  // namespace dtrain::topology
