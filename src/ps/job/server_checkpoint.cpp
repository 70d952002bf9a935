// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/job/server_checkpoint.hpp"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "ps/job/saved_dense.hpp"
#include "ps/job/server_manifest.hpp"
#include "ps/store/load_table.hpp"

namespace dtrain::ps {
namespace {

using nlohmann::json;

/// The files of one table, by all servers.
SavedTable saved_table(const std::filesystem::path& folder, const json& servers, const std::string& name) {
    SavedTable saved{folder, {}};
    for (const auto& server : servers)
        for (const auto& table : server.at("tables"))
            if (auto file = table_file_from_json(table.dump()); file.table == name)
                saved.files.push_back(std::move(file));
    if (saved.files.empty()) refuse(folder, fmt::format("it has no table '{}'", name));
    return saved;
}

}  // namespace

ServerParts load_parts(const ServerPlan& plan, const std::filesystem::path& folder) {
    const auto manifest = read_manifest(folder);
    check_others(folder, manifest);
    const auto& servers = manifest.at("servers");
    ServerParts parts{DensePart(plan.program, plan.blocks, plan.sources, plan.seed, plan.threads),
                      {},
                      servers.at(0).at("steps").get<std::int64_t>()};
    SavedDense(folder, servers).fill(plan.program, parts.dense.state());
    for (const auto& [options, rate, spill] : plan.tables) {
        const auto table = saved_table(folder, servers, options.name);
        parts.tables.push_back({load_table(options, {&table, 1}, plan.share, spill).table, rate});
    }
    return parts;
}

}  // namespace dtrain::ps
