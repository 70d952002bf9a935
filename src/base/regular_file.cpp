// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/regular_file.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace dtrain {
namespace {

const char* kind_of(mode_t mode) {
    if (S_ISDIR(mode)) return "it is a folder";
    if (S_ISFIFO(mode)) return "it is a FIFO, not a regular file";
    if (S_ISCHR(mode) || S_ISBLK(mode)) return "it is a device, not a regular file";
    return "it is no regular file";
}

struct stat info_of(const FileDescriptor& file, const std::filesystem::path& path) {
    struct stat info {};
    if (::fstat(file.get(), &info) != 0) throw UnreadableFile(path, std::strerror(errno));
    return info;
}

}  // namespace

UnreadableFile::UnreadableFile(const std::filesystem::path& path, std::string reason)
    : UsageError(fmt::format("cannot read {}: {}", one_line(path.string()), reason)),
      reason_(std::move(reason)) {}

FileDescriptor open_regular_file(const std::filesystem::path& path, Links links) {
    const int no_links = links == Links::refused ? O_NOFOLLOW : 0;
    FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | no_links));
    if (!file.valid())
        throw UnreadableFile(path, errno == ELOOP && no_links != 0
                                       ? "it is a symbolic link, which is not followed here"
                                   : errno == ENXIO ? "it is no regular file"
                                                    : std::strerror(errno));
    if (const auto mode = info_of(file, path).st_mode; !S_ISREG(mode))
        throw UnreadableFile(path, kind_of(mode));
    return file;
}

std::string read_regular_file(const std::filesystem::path& path, Links links, std::uintmax_t max) {
    const auto file = open_regular_file(path, links);
    const auto bytes = static_cast<std::uintmax_t>(info_of(file, path).st_size);
    if (bytes > max) throw UnreadableFile(path, fmt::format("it has {} bytes, more than {}", bytes, max));
    std::string content(bytes, '\0');
    const auto bytes_read = read_at(file.get(), content.data(), content.size(), 0);
    if (!bytes_read) throw UnreadableFile(path, std::strerror(errno));
    content.resize(*bytes_read);
    return content;
}

bool is_plain_name(std::string_view name) {
    return !name.empty() && name != "." && name != ".." &&
           name.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
}

}  // namespace dtrain
