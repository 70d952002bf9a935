// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "report/run.hpp"

namespace dtrain::report {

/// "Rank 2 on node7 was the slowest: others waited up to 12.3 s for it."; "" when the ranks' times tell of
/// none that mattered. Pure.
std::string slowest_rank(const Run& run);

}  // namespace dtrain::report
