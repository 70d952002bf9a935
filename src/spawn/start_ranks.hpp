// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <dtrain/spawn.hpp>

#include "spawn/outcome.hpp"

namespace dtrain::spawning {

/// What the ranks of a call of spawn() run, and what they are told.
struct RanksProgram {
    std::size_t call = 0;  ///< index of the call in this process, from 0 on
    std::vector<CallState> earlier;
    std::string arguments;             ///< as bytes
    std::vector<std::string> command;  ///< file and arguments
};

/// Starts the ranks by dtrain-launch.
/// @throws UsageError if options are not valid, or this process is a rank itself, before anything has started
std::shared_ptr<SpawnedRanks::State> start_ranks(const RanksProgram& program, const SpawnOptions& options);

}  // namespace dtrain::spawning
