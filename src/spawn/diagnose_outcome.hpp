// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "spawn/outcome.hpp"
#include "spawn/spawn_folder.hpp"

namespace dtrain::spawning {

/// How ranks ended whose launcher has ended with this status.
/// @param folder has its report, its messages and what the ranks wrote
Outcome diagnose(int status, int ranks, const SpawnFolder& folder);

}  // namespace dtrain::spawning
