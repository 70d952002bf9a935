// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/move_name.hpp"

#include <cerrno>
#include <sys/stat.h>
#include <unistd.h>

namespace dtrain {

bool move_name(const std::filesystem::path& from, const std::filesystem::path& to, int folder) {
    struct stat moved {};
    const bool existed = ::fstatat(folder, from.c_str(), &moved, AT_SYMLINK_NOFOLLOW) == 0;
    if (::renameat(folder, from.c_str(), folder, to.c_str()) == 0) return true;
    if (errno != ENOENT || !existed) return false;
    struct stat found {};
    if (::fstatat(folder, to.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0 && found.st_dev == moved.st_dev &&
        found.st_ino == moved.st_ino)
        return true;
    errno = ENOENT;
    return false;
}

}  // namespace dtrain
