// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace dtrain::native {

/// What a checkpoint has inside, for people: where training stood, of what job, its tensors, and what servers
/// have saved in it. Values are not read. Of a folder of checkpoints, inspect_folder().
/// @throws UsageError naming the file that cannot be read, is no checkpoint or is damaged
std::string inspect(const std::filesystem::path& checkpoint);

}  // namespace dtrain::native
