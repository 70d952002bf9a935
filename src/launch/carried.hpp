// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/environment.hpp>

#include "launch/options.hpp"

/// The variables that reach the ranks of other nodes. mpirun by itself carries only OMPI_* there.
namespace dtrain::launch {

/// Content of a file, or nothing when it cannot be read.
using ReadFile = std::function<std::optional<std::string>(const std::string& path)>;

/// What --env-file and --env (which wins) give to the programs on all nodes. A name without a value is taken
/// from `environment`.
/// @throws UsageError naming option and line for what is no NAME or NAME=VALUE, a name that is not set here,
/// or a file that cannot be read.
Environment given_variables(const Options& options, const Environment& environment,
                            const ReadFile& read_file);

/// Names out of `environment` that other nodes get too: where programs and libraries are found, the virtual
/// environment, and the settings of dtrain, Paddle, torch, NCCL, Gloo, OpenMP and the like, but for those
/// that belong to one machine (CUDA_VISIBLE_DEVICES).
std::vector<std::string> carried_names(const Environment& environment, const Environment& given);

}  // namespace dtrain::launch
