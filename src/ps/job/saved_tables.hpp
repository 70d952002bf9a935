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

/// The sparse tables in a checkpoint of servers: files in its folder, and in the sibling folders that it
/// builds on.
class SavedTables {
  public:
    /// @throws UsageError if its servers.json, or that of a save it builds on, cannot be read or is damaged
    explicit SavedTables(const std::filesystem::path& folder);

    const nlohmann::json& manifest() const { return saves_.back().manifest; }
    std::vector<std::string> names() const;

    /// The saves of one table, starting with the full one. @throws UsageError if the table is not in all of
    /// them
    std::vector<SavedTable> chain(const std::string& table) const;

  private:
    struct Save {
        std::filesystem::path folder;
        nlohmann::json manifest;
    };

    static SavedTable saved_table(const Save& save, const std::string& name);

    std::vector<Save> saves_;
};

/// Calls read(), which accesses the servers.json of a checkpoint.
/// @throws UsageError also if its content is invalid
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
