// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/log_policy.hpp"

#include <cerrno>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include <dtrain/error.hpp>

namespace dtrain::worker {
namespace {

OpenedLog opened(const std::filesystem::path& log, const LogPolicy& policy) {
    auto opened = open_log_file(log, policy.mode, policy.folders);
    // The mode must not depend on the umask or on an earlier job. A link to a device such as /dev/null stays
    // unchanged.
    struct stat info {};
    if (!opened.file.valid() || ::fstat(opened.file.get(), &info) != 0 || !S_ISREG(info.st_mode))
        return opened;
    ::fchmod(opened.file.get(), policy.mode);
    if (policy.overwrite && ::ftruncate(opened.file.get(), 0) != 0)
        return {.file = {}, .error = errno, .why = "it cannot be emptied"};
    return opened;
}

}  // namespace

FileDescriptor try_open_log(const std::filesystem::path& log, const LogPolicy& policy) {
    auto result = opened(log, policy);
    errno = result.error;
    return std::move(result.file);
}

FileDescriptor open_log(const std::filesystem::path& log, const LogPolicy& policy) {
    auto result = opened(log, policy);
    if (!result.file.valid()) throw UsageError(fmt::format("cannot write {}: {}", log.string(), result.why));
    return std::move(result.file);
}

}  // namespace dtrain::worker
