// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <dtrain/spawn.hpp>
#include <dtrain/topology.hpp>

namespace dtrain::spawning {

struct RanksToSpawn {
    int count = 0;
    std::string gpus;         ///< one for each rank, "4,5"; "": they have none
    bool hides_gpus = false;  ///< there are some that they must not see
    friend bool operator==(const RanksToSpawn&, const RanksToSpawn&) = default;
};

/// Which ranks the options want on this machine, as Paddle's spawn does it. Pure.
/// @param visible what CUDA_VISIBLE_DEVICES leaves of the machine's GPUs
/// @throws UsageError with the option, its value and what there is
RanksToSpawn ranks_to_spawn(const SpawnOptions& options, const topology::Machine& machine,
                            const std::vector<topology::VisibleGpu>& visible);

}  // namespace dtrain::spawning
