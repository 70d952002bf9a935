// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "base/log_opening.hpp"

namespace dtrain::worker {

/// Paddle's PADDLE_GLOO_FS_PATH for a job that dtrain-launch has not planned: the same for all ranks that
/// have the same folder of logs, and known to nobody else before. The ranks find it in a file there.
/// @param job its id
std::string gloo_folder(const std::filesystem::path& log_dir, const std::string& job, LogFolders folders);

/// The line of `job` in the text of that file, without its name, or "". Pure.
std::string gloo_mark(const std::string& text, const std::string& job);

/// The text with a line for `job`; of the oldest lines some go. Pure.
std::string with_gloo_mark(const std::string& text, const std::string& job, const std::string& mark);

}  // namespace dtrain::worker
