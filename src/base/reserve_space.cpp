// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/reserve_space.hpp"

#include <cerrno>
#include <fcntl.h>
#include <system_error>

#include "base/files.hpp"

namespace dtrain {

bool reserve_space(const std::filesystem::path& file, std::int64_t bytes) {
    if (bytes <= 0) return true;
    const FileDescriptor opened(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
    // Not posix_fallocate: where the file system cannot, it would write every block.
    int result = opened.valid() ? 0 : -1;
    if (opened.valid()) do
            result = ::fallocate(opened.get(), 0, 0, bytes);
        while (result != 0 && errno == EINTR);
    if (result == 0) return true;
    if (errno == EOPNOTSUPP || errno == ENOSYS) return false;
    throw std::system_error(errno, std::generic_category());
}

}  // namespace dtrain
