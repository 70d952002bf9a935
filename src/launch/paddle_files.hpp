// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/environment.hpp>

#include "launch/carried.hpp"
#include "launch/options.hpp"

/// Files of Paddle's automatic parallelism that are given on the command line. Pure except for reading them.
namespace dtrain::launch {

/// With --enable_auto_mapping the nodes and the number of their ranks are those of --rank_mapping_file:
///
///     {"ip_ranks": [{"ip": "10.0.0.1", "ranks": [0, 1]}, {"ip": "10.0.0.2", "ranks": [2, 3]}]}
///
/// Nodes are in the order of their ranks; each node has contiguous ranks, and all have the same number of
/// ranks.
/// @throws UsageError for a file that cannot be read or has other content, and for options that contradict it
Options with_rank_mapping(Options options, const ReadFile& read_file);

/// Variables that pass these files to programs, as absolute paths: PADDLE_AUTO_PARALLEL_CONFIG and
/// PADDLE_AUTO_PARALLEL_STAGE, PADDLE_RANK_MAPPING_PATH and PADDLE_ENABLE_AUTO_MAPPING.
/// @throws UsageError for an --auto_parallel_config that is not a JSON file, or only asks for Paddle's tuner
Environment variables_of_paddle_files(const Options& options, const ReadFile& read_file);

}  // namespace dtrain::launch
