// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/folder_claim.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace dtrain {

FolderClaim::FolderClaim(const std::filesystem::path& folder, const std::string& mark)
    // The file gets its final name once it is locked; nobody removes a folder without a file of that name.
    : file_(::open((folder / (mark + ".tmp")).c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                   0600)) {
    if (!file_.valid()) return;
    if (::flock(file_.get(), LOCK_EX | LOCK_NB) == 0 &&
        ::rename((folder / (mark + ".tmp")).c_str(), (folder / mark).c_str()) == 0)
        return;
    const int error = errno;
    file_.reset();
    errno = error;
}

bool remove_if_abandoned(const std::filesystem::path& folder, const std::string& mark) {
    struct stat info {};
    if (::lstat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != ::geteuid())
        return false;
    const FileDescriptor claim(::open((folder / mark).c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!claim.valid() || ::flock(claim.get(), LOCK_EX | LOCK_NB) != 0) return false;
    std::error_code failed;
    std::filesystem::remove_all(folder, failed);
    return !failed;
}

}  // namespace dtrain
