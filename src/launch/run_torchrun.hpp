// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <dtrain/environment.hpp>

namespace dtrain::launch {

/// Main function of dtrain-run, which takes torchrun's command line. Returns its exit status.
int run_torchrun(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace dtrain::launch
