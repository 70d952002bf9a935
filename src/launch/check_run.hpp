// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/check_plan.hpp"

namespace dtrain::launch {

/// dtrain-launch --check: asks all nodes of a plan at once, the way its engine would start ranks there, and
/// prints a table of them and what is wrong. Returns the exit status.
int run_check(const CheckSite& site);

}  // namespace dtrain::launch
