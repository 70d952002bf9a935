// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace dtrain::native {

/// Whether a path is a folder, and neither a checkpoint of its own nor one of servers.
bool is_folder_of_checkpoints(const std::filesystem::path& path);

/// Its checkpoints in the order of their moments, a line each, for people: where training stood, when it was
/// written, by how many servers and ranks, how large it is, and whether it is intact: all of it is read. Then
/// which of them is the latest.
/// @throws UsageError naming a folder that has none
std::string inspect_folder(const std::filesystem::path& folder);

}  // namespace dtrain::native
