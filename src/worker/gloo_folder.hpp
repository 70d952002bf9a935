// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "base/log_opening.hpp"

namespace dtrain::worker {

/// Paddle's PADDLE_GLOO_FS_PATH for a job that dtrain-launch has not planned: the same for all ranks with the
/// same log folder, and not predictable by others. The ranks agree on it through a file in the log folder.
/// @param job job id
std::string gloo_folder(const std::filesystem::path& log_dir, const std::string& job, LogFolders folders);

/// The mark of `job` in the text of that file, or "". Pure.
std::string gloo_mark(const std::string& text, const std::string& job);

/// The text with a line for `job` appended; the oldest lines are dropped once there are too many. Pure.
std::string with_gloo_mark(const std::string& text, const std::string& job, const std::string& mark);

}  // namespace dtrain::worker
