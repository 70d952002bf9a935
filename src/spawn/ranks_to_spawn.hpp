// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <dtrain/spawn.hpp>
#include <dtrain/topology.hpp>

namespace dtrain::spawning {

struct RanksToSpawn {
    int count = 0;
    std::string gpus;         ///< one id per rank, "4,5"; "": the ranks have no GPUs
    bool hides_gpus = false;  ///< there are GPUs that the ranks must not see
    friend bool operator==(const RanksToSpawn&, const RanksToSpawn&) = default;
};

/// The ranks that the options request on this machine, with the rules of Paddle's spawn. Pure.
/// @param visible the machine's GPUs that CUDA_VISIBLE_DEVICES allows
/// @throws UsageError with the option, its value and what is available
RanksToSpawn ranks_to_spawn(const SpawnOptions& options, const topology::Machine& machine,
                            const std::vector<topology::VisibleGpu>& visible);

}  // namespace dtrain::spawning
