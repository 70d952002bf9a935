// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/log_files.hpp"

#include <algorithm>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.hpp"

namespace dtrain {
namespace {

constexpr std::uintmax_t read_of_log = 64 * 1024;

}  // namespace

std::string tail_of(const std::filesystem::path& log, std::uintmax_t begin) {
    const auto size = size_or_zero(log);
    const FileDescriptor file(::open(log.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file.valid() || size <= begin) return "";
    std::string text(std::min(size - begin, read_of_log), '\0');
    const auto got = ::pread(file.get(), text.data(), text.size(), static_cast<off_t>(size - text.size()));
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
}

void append_line(const std::filesystem::path& log, const std::string& line) {
    const FileDescriptor file(::open(log.c_str(), O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    struct stat info {};
    if (!file.valid() || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return;
    char last = '\n';
    if (info.st_size > 0 && ::pread(file.get(), &last, 1, info.st_size - 1) != 1) return;
    write_all(file.get(), (last == '\n' ? "" : "\n") + line + "\n");
}

}  // namespace dtrain
