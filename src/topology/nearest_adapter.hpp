// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <dtrain/topology.hpp>

namespace dtrain::topology {

/// Sets Placement::adapter according to gpus and cpus. Prefers RDMA over Ethernet, then adapters on the PCI
/// bus or behind the PCI switch of one of the rank's GPUs, then near the GPUs or the rank's processors, then
/// in the same package. Equally near adapters are assigned in turn.
void choose_adapters(const Machine& machine, std::vector<Placement>& placements);

}  // namespace dtrain::topology
