// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

namespace dtrain {

/// The entries of a folder, in no order, as far as it can be read.
std::vector<std::filesystem::path> paths_in(const std::filesystem::path& folder);

/// The entries of a folder, in no order; none if there is no such folder.
/// @throws UsageError naming it if it cannot be read
std::vector<std::filesystem::path> all_paths_in(const std::filesystem::path& folder);

}  // namespace dtrain
