// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/environment.hpp>

#include "launch/carried.hpp"
#include "launch/options.hpp"

/// Files of Paddle's automatic parallelism that stand on a command line. Pure but for what reads them.
namespace dtrain::launch {

/// With --enable_auto_mapping the nodes and the number of their ranks are those of --rank_mapping_file:
///
///     {"ip_ranks": [{"ip": "10.0.0.1", "ranks": [0, 1]}, {"ip": "10.0.0.2", "ranks": [2, 3]}]}
///
/// Nodes stand in the order of their ranks; the ranks of each follow each other, and each has as many.
/// @throws UsageError for a file that cannot be read or says something else, and for options that say so
Options with_rank_mapping(Options options, const ReadFile& read_file);

/// What programs are told of these files, as absolute paths: PADDLE_AUTO_PARALLEL_CONFIG and
/// PADDLE_AUTO_PARALLEL_STAGE, PADDLE_RANK_MAPPING_PATH and PADDLE_ENABLE_AUTO_MAPPING.
/// @throws UsageError for an --auto_parallel_config that is no file of JSON, or asks for Paddle's tuner alone
Environment variables_of_paddle_files(const Options& options, const ReadFile& read_file);

}  // namespace dtrain::launch
