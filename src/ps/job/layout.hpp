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

/// A table as one of so many servers has it. Rows are spread by a hash, so that a server may have some more
/// than its share of `dict_size`: eight standard deviations more, which no data set reaches by chance.
TableOptions table_options(const DistributeTranspiler::Table& table, const ServerJobOptions& options,
                           std::size_t servers);

/// What a trainer and this server must agree on, a line for each thing.
std::string layout_text(const DistributeTranspiler& transpiler, const ServerJobOptions& options,
                        std::size_t server);

/// @throws UsageError when the options are out of range, or of another mode than the transpiler's programs
void check(const ServerJobOptions& options, const DistributeTranspiler& transpiler);

}  // namespace dtrain::ps
