// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace dtrain {

/// The content of a small file of /proc or /sys without the blanks and line ends around it, or "".
std::string trimmed_content(const std::filesystem::path& file);

}  // namespace dtrain
