// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/job/server_plan.hpp"

#include "ps/job/layout.hpp"

namespace dtrain::ps {

ServerPlan plan_server(const DistributeTranspiler& transpiler, const ServerJobOptions& options, Share share,
                       int trainers) {
    ServerPlan plan{.program = transpiler.get_pserver_program(transpiler.endpoints()[share.server]),
                    .blocks = blocks_on(transpiler, share.server),
                    .tables = {},
                    .share = share,
                    .sources = options.mode == ServerMode::sync ? trainers : 1,
                    .seed = options.seed,
                    .threads = options.threads};
    for (const auto& table : transpiler.tables())
        plan.tables.push_back({table_options(table, options.seed, share.servers), table.learning_rate});
    return plan;
}

ServerParts first_parts(const ServerPlan& plan) {
    ServerParts parts{DensePart(plan.program, plan.blocks, plan.sources, plan.seed, plan.threads), {}, 0};
    for (const auto& [options, rate] : plan.tables) parts.tables.push_back({SparseTable(options), rate});
    return parts;
}

}  // namespace dtrain::ps
