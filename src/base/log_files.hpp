// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

/// Reads the end of ranks' logs, and appends last lines to them. Logs are appended to from job to job.
namespace dtrain {

/// The end of what was written after byte `begin`, at most 64 KiB; "" if there is no such file here.
std::string tail_of(const std::filesystem::path& log, std::uintmax_t begin);

/// Appends a line in a single write to an existing log; starts a new line if the log's last line is
/// incomplete. Does nothing if the log does not exist here, or cannot be written.
void append_line(const std::filesystem::path& log, const std::string& line);

}  // namespace dtrain
