// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "base/files.hpp"

namespace dtrain {

/// Marks a new folder as in use while this object lives: by a lock, which the kernel releases if the process
/// is killed, and which processes of other containers see, too.
class FolderClaim {
  public:
    FolderClaim() = default;
    /// @param mark the name of a file in the folder
    FolderClaim(const std::filesystem::path& folder, const std::string& mark);

    /// If it is not held, remove_if_abandoned() never removes the folder; after the constructor, errno has
    /// the reason.
    bool is_held() const { return file_.valid(); }

  private:
    FileDescriptor file_;
};

/// Removes a folder of this user whose claim is no longer held; keeps other folders, and links.
/// @returns whether it was removed
bool remove_if_abandoned(const std::filesystem::path& folder, const std::string& mark);

}  // namespace dtrain
