// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/check_plan.hpp"

namespace dtrain::launch {

/// dtrain-launch --check: inspects all nodes of a plan at once, reaching them the way its launch backend
/// would, and prints a table of the nodes and the findings. Returns the exit status.
int run_check(const CheckSite& site);

}  // namespace dtrain::launch
