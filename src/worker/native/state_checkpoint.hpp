// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include <dtrain/checkpoint.hpp>
#include <dtrain/executor.hpp>

namespace dtrain::native {

/// Copies parameters and optimizer state into the checkpoint.
void store(const State& state, Checkpoint& checkpoint);

/// Sets the state to the checkpoint's, after checking everything: nothing is changed when it throws.
/// @param job what this job would write as Checkpoint::job
/// @throws UsageError naming `file` and the first difference with both values.
void restore(const std::filesystem::path& file, const Checkpoint& checkpoint,
             const std::map<std::string, std::string>& job, const State& state);

}  // namespace dtrain::native
