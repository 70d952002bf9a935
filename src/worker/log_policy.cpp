// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/log_policy.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>

namespace dtrain::worker {

FileDescriptor try_open_log(const std::filesystem::path& log, const LogPolicy& policy) {
    const int how = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | (policy.overwrite ? O_TRUNC : 0);
    FileDescriptor fd(::open(log.c_str(), how, policy.mode));
    // The umask does not count, nor what an earlier job chose; but a link to /dev/null stays what it is.
    struct stat info {};
    if (fd.valid() && ::fstat(fd.get(), &info) == 0 && S_ISREG(info.st_mode)) ::fchmod(fd.get(), policy.mode);
    return fd;
}

FileDescriptor open_log(const std::filesystem::path& log, const LogPolicy& policy) {
    auto fd = try_open_log(log, policy);
    if (!fd.valid())
        throw UsageError(
            fmt::format("cannot write {}: {}; choose another --log_dir", log.string(), std::strerror(errno)));
    return fd;
}

}  // namespace dtrain::worker
