// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <dtrain/parameter_servers.hpp>
#include <dtrain/transpiler.hpp>

#include "ps/table/table_options.hpp"

namespace dtrain::ps {

/// The blocks of one server, in the order of its placements.
std::vector<VariableBlock> blocks_on(const DistributeTranspiler& transpiler, std::size_t server);

/// The options of a table on each server. `dict_size` is the limit of all servers together: no single server
/// may exceed it, and the trainers check the sum.
TableOptions table_options(const DistributeTranspiler::Table& table, const ServerJobOptions& options);

/// What a trainer and this server must agree on, one line per item.
std::string layout_text(const DistributeTranspiler& transpiler, const ServerJobOptions& options,
                        std::size_t server);

/// @throws UsageError if the options are out of range, or do not fit the mode of the transpiler's programs
void check(const ServerJobOptions& options, const DistributeTranspiler& transpiler);

}  // namespace dtrain::ps
