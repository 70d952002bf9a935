// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <dtrain/cpuset.hpp>

namespace dtrain::worker {

/// Restricts this process, and what it starts, to these processors, and lets its memory come from these nodes
/// first (other nodes serve when they are full). Works without reading the topology.
/// @return the mask the kernel really set
/// @throws std::system_error when the kernel allows none of the processors
CpuSet bind_here(const CpuSet& cpus, const std::vector<int>& numa_nodes);

}  // namespace dtrain::worker
