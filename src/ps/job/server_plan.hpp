// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/parameter_servers.hpp>

#include "ps/server/server.hpp"
#include "ps/store/table_header.hpp"

namespace dtrain::ps {

/// What one server holds, before any memory is allocated.
struct ServerPlan {
    struct Table {
        TableOptions options;
        std::string learning_rate;  ///< as ServerTable::learning_rate
        std::optional<SpillOptions> spill = {};
    };

    Program program;
    std::vector<VariableBlock> blocks;
    std::vector<Table> tables;
    ServerShard shard;
    int sources = 1;  ///< number of gradients that one update adds
    std::uint64_t seed = 0;
    int threads = 0;
    Device device = Device::cpu();  ///< for the blocks, if there are any
};

/// @param options must name a folder if there is a memory limit
/// @param trainers number of trainers
ServerPlan plan_server(const DistributeTranspiler& transpiler, const ServerJobOptions& options,
                       ServerShard shard, int trainers);

/// What a Server is constructed from.
struct ServerParts {
    DensePart dense;
    std::vector<ServerTable> tables;
    std::int64_t steps = 0;  ///< number of steps in the parameters
};

/// The initial parameters, and no rows.
ServerParts first_parts(const ServerPlan& plan);

}  // namespace dtrain::ps
