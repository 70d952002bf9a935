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

/// The blocks of one server, in the order of the placements.
std::vector<VariableBlock> blocks_on(const DistributeTranspiler& transpiler, std::size_t server);

/// A table as each server has it. `dict_size` is of all servers together: no server may have more, and the
/// trainers look at the sum.
TableOptions table_options(const DistributeTranspiler::Table& table, const ServerJobOptions& options);

/// What a trainer and this server must agree on, a line for each thing.
std::string layout_text(const DistributeTranspiler& transpiler, const ServerJobOptions& options,
                        std::size_t server);

/// @throws UsageError when the options are out of range, or of another mode than the transpiler's programs
void check(const ServerJobOptions& options, const DistributeTranspiler& transpiler);

}  // namespace dtrain::ps
