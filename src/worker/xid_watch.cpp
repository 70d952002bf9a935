// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/xid_watch.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dtrain::worker {

XidWatch::XidWatch(const std::filesystem::path& kernel_log)
    : log_(::open(kernel_log.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
    struct stat info {};
    is_pollable_ = log_.valid() && ::fstat(log_.get(), &info) == 0 && !S_ISREG(info.st_mode);
    if (log_.valid()) ::lseek(log_.get(), 0, SEEK_END);
}

std::vector<topology::Xid> XidWatch::take() {
    return log_.valid() ? topology::read_xids(log_.get()) : std::vector<topology::Xid>();
}

}  // namespace dtrain::worker
