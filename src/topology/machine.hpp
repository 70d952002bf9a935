// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/topology.hpp>

#include "topology/hwloc_topology.hpp"

namespace dtrain::topology {

/// Host name, cores, memory nodes and the allowed processors; no devices.
Machine read_machine(const HwlocTopology& topology);

}  // namespace dtrain::topology
