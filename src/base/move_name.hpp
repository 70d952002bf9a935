// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <filesystem>

namespace dtrain {

/// As renameat(2) within one folder. True also where a network file system did it and its reply was lost: NFS
/// then asks again, and says ENOENT. @returns false with errno
bool move_name(const std::filesystem::path& from, const std::filesystem::path& to, int folder = AT_FDCWD);

}  // namespace dtrain
