// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/log_opening.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr const char* nowhere = "/dev/null";
constexpr std::string_view other_folder = "choose another --log_dir";
constexpr std::string_view or_trust = "or give --trust-log-dir if you trust all who can write there";

Ownership ownership_of(const struct stat& info) {
    return {.owner = info.st_uid, .mode = info.st_mode};
}

std::string plain(int error) {
    return fmt::format("{}; {}", std::generic_category().message(error), other_folder);
}

bool is_trusted(uid_t owner, uid_t user) {
    return owner == user || owner == 0;
}

/// A folder opened by descriptor, so that another one of that name later makes no difference.
struct OpenedFolder {
    FileDescriptor folder;
    Ownership ownership;
    int error = 0;
    std::string why;
};

OpenedFolder refused(const fs::path& path, int error, std::string_view reason) {
    return {
        .folder = {}, .ownership = {}, .error = error, .why = fmt::format("{} {}", path.string(), reason)};
}

OpenedFolder open_folder(const fs::path& named, LogFolders folders) {
    const auto path =
        named.has_filename() ? named : named.parent_path();  // opening "log/" would follow a link "log"
    struct stat link {};
    if (folders == LogFolders::own && ::lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode) &&
        !is_trusted(link.st_uid, ::geteuid()))
        return refused(
            path, EPERM,
            fmt::format("is a link that belongs to user {}; {}, {}", link.st_uid, other_folder, or_trust));
    OpenedFolder opened{.folder = FileDescriptor(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)),
                        .ownership = {},
                        .error = 0,
                        .why = {}};
    struct stat info {};
    if (!opened.folder.valid() || ::fstat(opened.folder.get(), &info) != 0) {
        const int error = errno;
        return refused(path, error, "cannot be opened: " + plain(error));
    }
    opened.ownership = ownership_of(info);
    if (folders == LogFolders::any) return opened;
    if (const auto reason = distrust_of_folder(opened.ownership, ::geteuid()))
        return refused(path, EPERM, fmt::format("{}; {}, {}", *reason, other_folder, or_trust));
    return opened;
}

bool leads_nowhere(int folder, const std::string& name) {
    std::array<char, std::string_view(nowhere).size() + 1> target{};
    const auto size = ::readlinkat(folder, name.c_str(), target.data(), target.size());
    return size > 0 && std::string_view(target.data(), static_cast<std::size_t>(size)) == nowhere;
}

}  // namespace

std::optional<std::string> distrust_of_folder(const Ownership& folder, uid_t user) {
    if (!is_trusted(folder.owner, user))
        return fmt::format("belongs to user {}, who can lead what the job writes elsewhere", folder.owner);
    if ((folder.mode & S_IWOTH) != 0 && (folder.mode & S_ISVTX) == 0)
        return fmt::format("has mode {:04o}, so everybody can lead what the job writes elsewhere",
                           folder.mode & 07777U);
    return std::nullopt;
}

std::optional<std::string> distrust_of_file(const Ownership& file, std::size_t names, const Ownership& folder,
                                            uid_t user) {
    if ((folder.mode & S_IWOTH) != 0 && !is_trusted(file.owner, user))
        return fmt::format("belongs to user {}", file.owner);
    if ((folder.mode & (S_IWGRP | S_IWOTH)) != 0 && S_ISREG(file.mode) && names > 1)
        return "has another name elsewhere (a hard link)";
    return std::nullopt;
}

OpenedLog open_log_file(const fs::path& file, mode_t mode, LogFolders folders) {
    auto in = open_folder(file.has_parent_path() ? file.parent_path() : ".", folders);
    if (in.error == ENOENT) return {.file = {}, .error = ENOENT, .why = plain(ENOENT)};
    if (!in.folder.valid()) return {.file = {}, .error = in.error, .why = std::move(in.why)};
    const auto name = file.filename().string();
    constexpr int how = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
    FileDescriptor opened(::openat(in.folder.get(), name.c_str(), how, mode));
    const int error = errno;
    struct stat info {};
    const bool exists = opened.valid()
                            ? ::fstat(opened.get(), &info) == 0
                            : ::fstatat(in.folder.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
    if (exists && S_ISLNK(info.st_mode)) {
        if (!leads_nowhere(in.folder.get(), name))
            return {.file = {},
                    .error = ELOOP,
                    .why = "it is a link, of which only one to /dev/null is followed; remove it"};
        return {
            .file = FileDescriptor(::open(nowhere, O_RDWR | O_APPEND | O_CLOEXEC)), .error = 0, .why = {}};
    }
    if (exists && folders == LogFolders::own && (S_ISREG(info.st_mode) || S_ISFIFO(info.st_mode)))
        if (const auto reason =
                distrust_of_file(ownership_of(info), info.st_nlink, in.ownership, ::geteuid()))
            return {.file = {},
                    .error = EPERM,
                    .why = fmt::format("it {}; remove it, {}, {}", *reason, other_folder, or_trust)};
    if (!opened.valid()) return {.file = {}, .error = error, .why = plain(error)};
    return {.file = std::move(opened), .error = 0, .why = {}};
}

FileDescriptor open_to_append(const fs::path& file, mode_t mode) {
    constexpr int how = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
    FileDescriptor opened(::open(file.c_str(), how | O_NOFOLLOW, mode));
    if (opened.valid() || errno != ELOOP) return opened;
    struct stat link {};
    if (::lstat(file.c_str(), &link) == 0 && is_trusted(link.st_uid, ::geteuid()))
        return FileDescriptor(::open(file.c_str(), how, mode));
    errno = ELOOP;
    return opened;
}

std::error_code make_log_folders(const fs::path& folder) {
    constexpr mode_t not_for_all = 0775;
    fs::path made;
    for (const auto& part : folder) {
        made /= part;
        std::error_code error;
        if (fs::is_directory(made, error)) continue;
        if (::mkdir(made.c_str(), not_for_all) == 0) continue;
        const int failed = errno;
        if (failed == EEXIST && fs::is_directory(made, error)) continue;  // another rank created it first
        return {failed == EEXIST ? ENOTDIR : failed, std::generic_category()};
    }
    return {};
}

std::optional<std::string> why_no_log_folder(const fs::path& folder, LogFolders folders) {
    const auto opened = open_folder(folder, folders);
    return opened.folder.valid() ? std::nullopt : std::optional(opened.why);
}

}  // namespace dtrain
