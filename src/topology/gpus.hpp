// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <dtrain/topology.hpp>

#include "topology/hwloc_topology.hpp"

namespace dtrain::topology {

/// NVIDIA's display and 3D controllers in PCI order, with their names if the topology has them.
std::vector<Gpu> read_gpus(const HwlocTopology& topology, const CpuSet& allowed);

}  // namespace dtrain::topology
