// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/job/saved_tables.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace dtrain::ps {

SavedTables::SavedTables(const std::filesystem::path& folder) {
    auto own = read_manifest(folder);
    auto chain = chain_folders(folder, own);
    chain.pop_back();
    for (const auto& needed : chain) saves_.push_back({needed, read_manifest(needed)});
    saves_.push_back({folder, std::move(own)});
}

std::vector<std::string> SavedTables::names() const {
    std::vector<std::string> names;
    for (const auto& server : manifest().at("servers"))
        for (const auto& table : server.at("tables"))
            if (const auto name = table_file_from_json(table.dump()).table;
                std::ranges::find(names, name) == names.end())
                names.push_back(name);
    return names;
}

std::vector<SavedTable> SavedTables::chain(const std::string& table) const {
    std::vector<SavedTable> chain;
    for (const auto& save : saves_) chain.push_back(saved_table(save, table));
    return chain;
}

SavedTable SavedTables::saved_table(const Save& save, const std::string& name) {
    SavedTable saved{save.folder, {}};
    for (const auto& server : save.manifest.at("servers"))
        for (const auto& table : server.at("tables"))
            if (auto file = table_file_from_json(table.dump()); file.table == name)
                saved.files.push_back(std::move(file));
    if (saved.files.empty()) refuse(save.folder, fmt::format("it has no table '{}'", name));
    return saved;
}

}  // namespace dtrain::ps
