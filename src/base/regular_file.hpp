// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <dtrain/error.hpp>

#include "base/files.hpp"

/// Files that somebody else may have put there, or named: only regular ones are read, whatever is in their
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

/// Opens a regular file for reading. Never waits, as one does who opens a FIFO.
/// @param links whether the path may be that of a symbolic link; those on the way are followed
/// @throws UnreadableFile: what is there instead, or why it cannot be read
FileDescriptor open_regular_file(const std::filesystem::path& path, Links links = Links::followed);

/// Its whole content. @throws UnreadableFile, also when it has more than `most` bytes
std::string read_regular_file(const std::filesystem::path& path, Links links = Links::followed,
                              std::uintmax_t max = std::uintmax_t{1} << 30U);

/// Whether a name that a file tells can be that of a file in the same folder, and of nothing else.
bool is_plain_name(std::string_view name);

}  // namespace dtrain
