// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <dtrain/environment.hpp>
#include <dtrain/spawn.hpp>

#include "spawn/ranks_to_spawn.hpp"
#include "spawn/spawn_folder.hpp"

namespace dtrain::spawning {

/// Path of dtrain-launch: named by DTRAIN_LAUNCH, or installed with this library, or found in PATH.
/// @throws UsageError if there is none
std::string find_launcher(const Environment& environment);

/// The command line of this program.
/// @returns its file, then the arguments
std::vector<std::string> this_command();

/// The command by which dtrain-launch starts the ranks. Pure.
/// @param program as returned by this_command()
std::vector<std::string> launch_command(const std::string& launcher, const RanksToSpawn& ranks,
                                        const SpawnOptions& options, const SpawnFolder& folder,
                                        const std::vector<std::string>& program);

/// The variables of dtrain-launch, which the ranks inherit. Pure.
Environment launch_environment(Environment environment, const RanksToSpawn& ranks, std::size_t call,
                               const SpawnFolder& folder);

}  // namespace dtrain::spawning
