// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "storage/checkpoint_directory.hpp"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/files.hpp"
#include "base/move_name.hpp"

namespace dtrain::storage {
namespace {

constexpr std::string_view unfinished = ".tmp-";  // prefix of a checkpoint's name

[[noreturn]] void fail_at(int code, const std::filesystem::path& path) {
    throw std::system_error(code, std::generic_category(), path.string());
}

/// Moves `temporary` to `path`; what was at `path` is then at `temporary` or deleted.
void rename_into_place(const std::filesystem::path& temporary, const std::filesystem::path& path) {
    if (move_name(temporary, path)) return;
    if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR) fail_at(errno, path);
    if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0) return;
    // Some file systems, such as NFS, cannot exchange names: then no checkpoint has this name for a moment.
    std::filesystem::remove_all(path);
    if (!move_name(temporary, path)) fail_at(errno, path);
}

void check_shards(const std::filesystem::path& folder, const CheckpointIndex& index) {
    for (std::size_t shard = 0; shard < index.shards.size(); ++shard) {
        const auto file = folder / shard_name(shard);
        if (size_or_zero(file) != static_cast<std::uintmax_t>(index.shards[shard].bytes))
            throw Error(fmt::format(
                "{}: what another rank wrote is not to be seen here; a checkpoint of format \"directory\" "
                "needs a file system that all nodes share (format = \"file\" does not)",
                file.string()));
    }
}

}  // namespace

std::filesystem::path temporary_path(const std::filesystem::path& path) {
    return path.parent_path() / (std::string(unfinished) + path.filename().string());
}

std::string checkpoint_name(const std::filesystem::path& path) {
    auto name = path.filename().string();
    if (name.starts_with(unfinished)) name.erase(0, unfinished.size());
    return name;
}

void begin_directory(const std::filesystem::path& path) {
    try {
        const auto temporary = temporary_path(path);
        std::filesystem::remove_all(temporary);
        if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path());
        // mkdir() fails if another process has created the folder meanwhile: it must not be reused.
        if (::mkdir(temporary.c_str(), 0777) != 0) fail_at(errno, temporary);
    } catch (const std::system_error& error) {
        throw Error("cannot write the checkpoint " + path.string() + ": " + error.code().message());
    }
}

void abandon_checkpoint(const std::filesystem::path& path) noexcept {
    std::error_code ignored;
    std::filesystem::remove_all(temporary_path(path), ignored);
}

void commit_directory(const std::filesystem::path& path, const CheckpointIndex& index) {
    const auto temporary = temporary_path(path);
    try {
        check_shards(temporary, index);
        write_index(temporary / index_name, index);
    } catch (const std::system_error& error) {
        throw Error("cannot write the checkpoint " + path.string() + ": " + error.code().message());
    }
    complete_directory(path);
}

void complete_directory(const std::filesystem::path& path) {
    const auto temporary = temporary_path(path);
    try {
        sync_folder(temporary);
        rename_into_place(temporary, path);
        sync_folder(path.parent_path());
        std::error_code ignored;
        std::filesystem::remove_all(temporary, ignored);
    } catch (const std::system_error& error) {
        throw Error("cannot write the checkpoint " + path.string() + ": " + error.code().message());
    }
}

}  // namespace dtrain::storage
