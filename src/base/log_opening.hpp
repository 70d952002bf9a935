// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>
#include <system_error>

#include "base/files.hpp"

/// Opens files in a folder of logs such that no other user can redirect a job's output.
namespace dtrain {

/// Which folders logs may be in.
enum class LogFolders {
    own,  ///< this user's and root's, unless everybody may rename files in them
    any,  ///< also those in which other users can redirect a job's output
};

/// Owner and permissions, as returned by stat().
struct Ownership {
    uid_t owner = 0;
    mode_t mode = 0;
};

/// Why a job of `user` should not write into such a folder, or nothing. Pure.
std::optional<std::string> distrust_of_folder(const Ownership& folder, uid_t user);

/// Why a job of `user` should not write into a file of such a folder, or nothing. Pure.
/// @param names number of the file's names (hard links)
std::optional<std::string> distrust_of_file(const Ownership& file, std::size_t names, const Ownership& folder,
                                            uid_t user);

struct OpenedLog {
    FileDescriptor file;
    int error = 0;    ///< errno if there is no file
    std::string why;  ///< the error in words, with the remedy
};

/// Opens a file for reading and appending, or creates it, after checking its folder. Does not follow links,
/// except to /dev/null.
/// @param mode permissions of a new file
OpenedLog open_log_file(const std::filesystem::path& file, mode_t mode, LogFolders folders);

/// Creates a folder for logs and its missing parents; none of them is writable for everybody, whatever the
/// umask.
/// @returns why it cannot be created
std::error_code make_log_folders(const std::filesystem::path& folder);

/// Why logs cannot or should not be written into this folder, beginning with its path; or nothing.
std::optional<std::string> why_no_log_folder(const std::filesystem::path& folder, LogFolders folders);

/// Opens a file named by the user for appending, or creates it. Follows a link that belongs to this user or
/// to root. If the result is not valid, errno has the reason.
FileDescriptor open_to_append(const std::filesystem::path& file, mode_t mode);

}  // namespace dtrain
