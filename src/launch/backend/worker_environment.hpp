// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <dtrain/environment.hpp>

#include "launch/plan/plan.hpp"

namespace dtrain::launch {

/// The variables that the launcher adds to the environment of a launch backend and of the workers. Pure.
/// @param token a secret of this job by which its processes can be found
Environment worker_environment(const Plan& plan, const Options& options, const std::string& token,
                               bool as_root);

}  // namespace dtrain::launch
