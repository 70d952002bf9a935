// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/environment.hpp>

#include "launch/options/options.hpp"

/// The variables that are passed to the ranks of other nodes. mpirun by itself passes only OMPI_* there.
namespace dtrain::launch {

/// Content of a file, or nothing if it cannot be read.
using ReadFile = std::function<std::optional<std::string>(const std::string& path)>;

/// The variables that --env-file and --env (which takes precedence) set for the programs on all nodes. A name
/// without a value is taken from `environment`.
/// @throws UsageError naming option and line if an entry is neither NAME nor NAME=VALUE, if a name is not set
/// here, or if a file cannot be read.
Environment given_variables(const Options& options, const Environment& environment,
                            const ReadFile& read_file);

/// Names in `environment` that are also passed to other nodes: search paths of programs and libraries, the
/// virtual environment, and the settings of dtrain, Paddle, torch, NCCL, Gloo, OpenMP, oneDNN and the like,
/// except those that belong to one machine (CUDA_VISIBLE_DEVICES).
std::vector<std::string> carried_names(const Environment& environment, const Environment& given);

}  // namespace dtrain::launch
