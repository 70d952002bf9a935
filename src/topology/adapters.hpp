// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <dtrain/topology.hpp>

#include "topology/hwloc_topology.hpp"

namespace dtrain::topology {

/// OpenFabrics devices, then network interfaces, each group in PCI order; only PCI devices.
std::vector<NetworkAdapter> read_adapters(const HwlocTopology& topology, const CpuSet& allowed);

}  // namespace dtrain::topology
