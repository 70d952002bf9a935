// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/job/check_save.hpp"

#include "ps/job/saved_dense.hpp"
#include "ps/job/saved_tables.hpp"

namespace dtrain::ps {

SaveInfo info_of_save(const std::filesystem::path& folder) {
    return making_sense(folder, [&] {
        const auto manifest = read_manifest(folder);
        SaveInfo info{.servers = static_cast<int>(manifest.at("servers").size())};
        for (const auto& save : chain_folders(folder, manifest))
            info.needs.push_back(save.filename().string());
        info.needs.pop_back();
        return info;
    });
}

void check_save(const std::filesystem::path& folder) {
    making_sense(folder, [&] {
        const SavedTables saved(folder);
        check_others(folder, saved.manifest());
        const SavedDense dense(folder, saved.manifest().at("servers"));
        for (const auto& table : saved.names()) check_saved_table(saved.chain(table));
    });
}

}  // namespace dtrain::ps
