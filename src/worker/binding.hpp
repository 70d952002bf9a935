// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <dtrain/cpuset.hpp>

namespace dtrain::worker {

/// Binds this process and its children to these processors and makes their memory come from these NUMA nodes
/// first (other nodes are used when they are full). Does not read the topology.
/// @return the affinity mask that the kernel actually set
/// @throws std::system_error if the kernel allows none of the processors
CpuSet bind_this_thread(const CpuSet& cpus, const std::vector<int>& numa_nodes);

}  // namespace dtrain::worker
