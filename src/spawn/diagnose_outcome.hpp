// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "spawn/outcome.hpp"
#include "spawn/spawn_folder.hpp"

namespace dtrain::spawning {

/// Determines how the ranks ended, given their launcher's exit status.
/// @param folder has its report, its messages and the ranks' results
Outcome diagnose(int status, int ranks, const SpawnFolder& folder);

}  // namespace dtrain::spawning
