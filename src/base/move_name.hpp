// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <filesystem>

namespace dtrain {

/// Like renameat(2) within one folder. Also true if a network file system did the move but its reply was
/// lost: NFS then repeats the request, and returns ENOENT.
/// @returns false with errno set on failure
bool move_name(const std::filesystem::path& from, const std::filesystem::path& to, int folder = AT_FDCWD);

}  // namespace dtrain
