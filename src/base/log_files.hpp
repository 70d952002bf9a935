// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

/// Reading and ending the logs of ranks, which are appended to from job to job.
namespace dtrain {

/// The end of what was written behind byte `begin`, at most 64 KiB; "" when there is no such file here.
std::string tail_of(const std::filesystem::path& log, std::uintmax_t begin);

/// Appends a line in one piece to a log that exists, beginning a new line where the last one has no end. A
/// log that is not here, or cannot be written, stays as it is.
void append_line(const std::filesystem::path& log, const std::string& line);

}  // namespace dtrain
