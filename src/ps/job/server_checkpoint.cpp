// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/job/server_checkpoint.hpp"

#include <limits>

#include <fmt/format.h>

#include "ps/job/saved_dense.hpp"
#include "ps/job/saved_tables.hpp"

namespace dtrain::ps {
namespace {

std::int64_t steps_of(const std::filesystem::path& folder, const nlohmann::json& server) {
    const auto steps = server.at("steps").get<std::int64_t>();
    if (steps < 0 || steps == std::numeric_limits<std::int64_t>::max())
        refuse(folder, fmt::format("its servers have made {} steps, which no server can", steps));
    return steps;
}

ServerParts load(const ServerPlan& plan, const std::filesystem::path& folder) {
    const SavedTables saved(folder);
    const auto& manifest = saved.manifest();
    check_others(folder, manifest);
    const auto& servers = manifest.at("servers");
    ServerParts parts{
        DensePart(plan.program, plan.blocks, plan.sources, plan.seed, plan.threads, plan.device),
        {},
        steps_of(folder, servers.at(0))};
    SavedDense(folder, servers).fill(plan.program, parts.dense.mutable_state());
    for (const auto& [options, rate, spill] : plan.tables)
        parts.tables.push_back(
            {load_table(options, saved.chain(options.name), plan.shard, spill).table, rate});
    return parts;
}

}  // namespace

ServerParts load_parts(const ServerPlan& plan, const std::filesystem::path& folder) {
    return making_sense(folder, [&] { return load(plan, folder); });
}

}  // namespace dtrain::ps
