// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <dtrain/topology.hpp>

#include "topology/hwloc_topology.hpp"

namespace dtrain::topology {

/// Those on the PCI bus, in Machine's order.
std::vector<NetworkAdapter> read_adapters(const HwlocTopology& topology, const CpuSet& allowed);

/// The same of simple_adapters(), for a topology without devices.
std::vector<NetworkAdapter> placed_adapters(std::vector<NetworkAdapter> simple, const HwlocTopology& topology,
                                            const CpuSet& allowed);

}  // namespace dtrain::topology
