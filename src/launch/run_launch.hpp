// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <dtrain/environment.hpp>

namespace dtrain::launch {

/// Main function of dtrain-launch: plans, starts, watches and reports one job. Returns its exit status.
int run_launch(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace dtrain::launch
