// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/job/server_plan.hpp"

#include "ps/job/layout.hpp"

namespace dtrain::ps {
namespace {

/// Distributes the memory limit over the tables.
void limit_memory(std::vector<ServerPlan::Table>& tables, std::int64_t memory,
                  const std::filesystem::path& folder) {
    double bytes = 0;  // sum over the tables of the bytes per row
    for (const auto& table : tables) bytes += static_cast<double>(RowLayout(table.options).row_bytes());
    for (auto& table : tables) {
        const auto part = static_cast<double>(RowLayout(table.options).row_bytes()) / bytes;
        table.spill = {folder, static_cast<std::size_t>(part * static_cast<double>(memory))};
    }
}

}  // namespace

ServerPlan plan_server(const DistributeTranspiler& transpiler, const ServerJobOptions& options,
                       ServerShard shard, int trainers) {
    ServerPlan plan{.program = transpiler.get_pserver_program(transpiler.endpoints()[shard.server]),
                    .blocks = blocks_on(transpiler, shard.server),
                    .tables = {},
                    .shard = shard,
                    .sources = options.mode == ServerMode::sync ? trainers : 1,
                    .seed = options.seed,
                    .threads = options.threads};
    if (!plan.blocks.empty()) plan.device = options.device;
    for (const auto& table : transpiler.tables())
        plan.tables.push_back({table_options(table, options), table.learning_rate});
    if (options.memory) limit_memory(plan.tables, *options.memory, options.spill);
    return plan;
}

ServerParts first_parts(const ServerPlan& plan) {
    ServerParts parts{
        DensePart(plan.program, plan.blocks, plan.sources, plan.seed, plan.threads, plan.device), {}, 0};
    for (const auto& [options, rate, spill] : plan.tables)
        parts.tables.push_back({SparseTable(options, spill), rate});
    return parts;
}

}  // namespace dtrain::ps
