// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>
#include <system_error>

#include "base/files.hpp"

/// Opening files of a folder of logs so that nobody else decides where a job writes.
namespace dtrain {

/// Which folders logs may be in.
enum class LogFolders {
    own,  ///< this user's and root's, unless everybody may change names in them
    any,  ///< also those in which others can lead a job's output elsewhere
};

/// Owner and permissions, as stat() has them.
struct Ownership {
    uid_t owner = 0;
    mode_t mode = 0;
};

/// Why a job of `user` should not write into such a folder, or nothing. Pure.
std::optional<std::string> distrust_of_folder(const Ownership& folder, uid_t user);

/// Why a job of `user` should not write into a file of such a folder, or nothing. Pure.
/// @param names how many the file has (hard links)
std::optional<std::string> distrust_of_file(const Ownership& file, std::size_t names, const Ownership& folder,
                                            uid_t user);

struct OpenedLog {
    FileDescriptor file;
    int error = 0;    ///< errno when there is no file
    std::string why;  ///< the same in words, and what to do
};

/// Opens a file for reading and appending, or makes it, in a folder that is looked at first. Of links only
/// one to /dev/null is followed.
/// @param mode of a new file
OpenedLog open_log_file(const std::filesystem::path& file, mode_t mode, LogFolders folders);

/// Makes a folder for logs and those above it that are not there; in none of them everybody may write,
/// whatever the umask. @returns why it cannot be made
std::error_code make_log_folders(const std::filesystem::path& folder);

/// Why no log can or should be in this folder, beginning with its path, or nothing.
std::optional<std::string> why_no_log_folder(const std::filesystem::path& folder, LogFolders folders);

/// Opens a file that the user has named for appending, or makes it. A link there is followed when it belongs
/// to this user or to root. errno tells why it is not valid.
FileDescriptor open_to_append(const std::filesystem::path& file, mode_t mode);

}  // namespace dtrain
