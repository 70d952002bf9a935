// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace dtrain::native {

/// Whether a path is a folder that is itself neither a checkpoint nor one of servers.
bool is_folder_of_checkpoints(const std::filesystem::path& path);

/// Describes the checkpoints of a folder in training order, one line each, for people: the training step,
/// when it was written, by how many servers and ranks, its size, and whether it is intact (all data is read).
/// Also tells which of them is the latest.
/// @throws UsageError naming a folder without checkpoints
std::string inspect_folder(const std::filesystem::path& folder);

}  // namespace dtrain::native
