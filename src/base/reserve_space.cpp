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
    if (!opened.valid()) throw std::system_error(errno, std::generic_category());
    // Not posix_fallocate: where the file system cannot, it would write every block.
    while (::fallocate(opened.get(), 0, 0, bytes) != 0) {
        if (errno == EOPNOTSUPP || errno == ENOSYS) return false;
        if (errno != EINTR) throw std::system_error(errno, std::generic_category());
    }
    return true;
}

}  // namespace dtrain
