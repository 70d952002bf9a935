// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "ps/job/server_manifest.hpp"
#include "ps/store/load_table.hpp"

namespace dtrain::ps {

/// What a checkpoint of servers has of sparse tables: files in its folder, and in those beside it that it
/// needs.
class SavedTables {
  public:
    /// @throws UsageError when its servers.json, or that of one it needs, cannot be read or is damaged
    explicit SavedTables(const std::filesystem::path& folder);

    const nlohmann::json& manifest() const { return saves_.back().manifest; }
    std::vector<std::string> names() const;

    /// The saves of one table, from that of all rows on. @throws UsageError when it is not in all of them
    std::vector<SavedTable> chain(const std::string& table) const;

  private:
    struct Save {
        std::filesystem::path folder;
        nlohmann::json manifest;
    };

    static SavedTable saved_table(const Save& save, const std::string& name);

    std::vector<Save> saves_;
};

/// Calls read(), which looks into the servers.json of a checkpoint.
/// @throws UsageError also where that makes no sense
auto making_sense(const std::filesystem::path& folder, const auto& read) {
    try {
        return read();
    } catch (const nlohmann::json::exception&) {
        refuse(folder, "its servers.json, or that of one it needs, makes no sense");
    } catch (const std::filesystem::filesystem_error& error) {
        refuse(folder, error.code().message());
    }
}

}  // namespace dtrain::ps
