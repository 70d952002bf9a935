// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dtrain::ps {

struct SaveInfo {
    int servers = 0;                      ///< number of servers that wrote it
    std::vector<std::string> needs = {};  ///< names of the sibling folders with the saves that it builds on
};

/// What the servers have saved in this folder; reads only the manifest.
/// @throws UsageError naming the file that is missing or damaged
SaveInfo info_of_save(const std::filesystem::path& folder);

/// Verifies the checksums of all files that load_parts() would read on all servers, including those in
/// sibling folders, and of all other files of the folder.
/// @throws UsageError naming the file that is missing or damaged
void check_save(const std::filesystem::path& folder);

}  // namespace dtrain::ps
