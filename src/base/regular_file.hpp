// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <dtrain/error.hpp>

#include "base/files.hpp"

/// Reads files that somebody else may have put there, or named: only regular files, whatever is in their
/// place.
namespace dtrain {

enum class Links { followed, refused };

/// "cannot read PATH: REASON".
class UnreadableFile : public UsageError {
  public:
    UnreadableFile(const std::filesystem::path& path, std::string reason);
    const std::string& reason() const { return reason_; }

  private:
    std::string reason_;
};

/// Opens a regular file for reading. Never blocks, as opening a FIFO would.
/// @param links whether the path itself may be a symbolic link; links in its folders are followed
/// @throws UnreadableFile naming what is there instead, or why it cannot be read
FileDescriptor open_regular_file(const std::filesystem::path& path, Links links = Links::followed);

/// Its whole content.
/// @throws UnreadableFile, also if it has more than `max` bytes
std::string read_regular_file(const std::filesystem::path& path, Links links = Links::followed,
                              std::uintmax_t max = std::uintmax_t{1} << 30U);

/// Whether a name found in a file can only be that of a file in the same folder.
bool is_plain_name(std::string_view name);

}  // namespace dtrain
