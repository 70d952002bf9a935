// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dtrain::ps {

struct SaveInfo {
    int servers = 0;                      ///< that wrote it
    std::vector<std::string> needs = {};  ///< names of the folders beside it that have what it goes on from
};

/// What any number of servers have saved in that folder: the manifest alone is read.
/// @throws UsageError naming the file that is missing or damaged
SaveInfo info_of_save(const std::filesystem::path& folder);

/// Compares with their checksums all files from which load_parts() would read on all servers together, those
/// in folders beside it too, and all others of the folder.
/// @throws UsageError naming the file that is missing or damaged
void check_save(const std::filesystem::path& folder);

}  // namespace dtrain::ps
