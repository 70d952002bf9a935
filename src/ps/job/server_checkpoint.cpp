// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/job/server_checkpoint.hpp"

#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "ps/job/saved_dense.hpp"
#include "ps/job/server_manifest.hpp"
#include "ps/store/load_table.hpp"

namespace dtrain::ps {
namespace {

using nlohmann::json;

struct Save {
    std::filesystem::path folder;
    json manifest;
};

/// The files of one table, by all servers.
SavedTable saved_table(const Save& save, const std::string& name) {
    const auto& folder = save.folder;
    SavedTable saved{folder, {}};
    for (const auto& server : save.manifest.at("servers"))
        for (const auto& table : server.at("tables"))
            if (auto file = table_file_from_json(table.dump()); file.table == name)
                saved.files.push_back(std::move(file));
    if (saved.files.empty()) refuse(folder, fmt::format("it has no table '{}'", name));
    return saved;
}

ServerParts load(const ServerPlan& plan, const std::filesystem::path& folder) {
    const auto manifest = read_manifest(folder);
    check_others(folder, manifest);
    const auto& servers = manifest.at("servers");
    ServerParts parts{DensePart(plan.program, plan.blocks, plan.sources, plan.seed, plan.threads),
                      {},
                      servers.at(0).at("steps").get<std::int64_t>()};
    SavedDense(folder, servers).fill(plan.program, parts.dense.state());
    std::vector<Save> saves;
    for (auto& save : chain_of(folder, manifest)) saves.push_back({save, read_manifest(save)});
    for (const auto& [options, rate, spill] : plan.tables) {
        std::vector<SavedTable> chain;
        for (const auto& save : saves) chain.push_back(saved_table(save, options.name));
        parts.tables.push_back({load_table(options, chain, plan.share, spill).table, rate});
    }
    return parts;
}

}  // namespace

ServerParts load_parts(const ServerPlan& plan, const std::filesystem::path& folder) {
    try {
        return load(plan, folder);
    } catch (const json::exception&) {
        refuse(folder, "its servers.json, or that of one it needs, makes no sense");
    } catch (const std::filesystem::filesystem_error& error) {
        refuse(folder, error.code().message());
    }
}

}  // namespace dtrain::ps
