// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace dtrain::native {

/// Describes a checkpoint for people: the training step, the job, its tensors, and what servers have saved in
/// it. Values are not read. For a folder of checkpoints: inspect_folder().
/// @throws UsageError naming the file that cannot be read, is not a checkpoint or is damaged
std::string inspect(const std::filesystem::path& checkpoint);

}  // namespace dtrain::native
