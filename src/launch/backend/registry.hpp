// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launch/backend/launch_backend.hpp"

/// The launch backends that dtrain knows.
namespace dtrain::launch {

/// In the order in which --engine auto tries them.
const std::vector<const LaunchBackend*>& launch_backends();

/// Adds one behind those of dtrain, for the rest of the process. Not thread-safe: call it before anything
/// else.
/// @param backend must outlive all uses
void add_backend(const LaunchBackend& backend);

/// Null if there is none of this name.
const LaunchBackend* find_backend(std::string_view name);

/// @throws Error if there is none of this name
const LaunchBackend& backend_named(std::string_view name);

/// @param wanted value of --engine: auto or a name
/// @throws UsageError if the wanted backend cannot be used
const LaunchBackend& choose_backend(const std::string& wanted, const BackendSite& site);

/// Content of the hostfile for the plan's launch backend.
std::string hostfile_text(const Plan& plan);

}  // namespace dtrain::launch
