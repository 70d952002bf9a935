// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "base/files.hpp"

namespace dtrain {

/// Marks a new folder as in use while this lives: by a lock, which the kernel takes away when the process is
/// killed, and which processes of other containers see, too.
class FolderClaim {
  public:
    FolderClaim() = default;
    /// @param mark the name of a file in the folder
    FolderClaim(const std::filesystem::path& folder, const std::string& mark);

    /// Where it is not, nobody will find the folder abandoned; errno tells why, after the constructor.
    bool is_held() const { return file_.valid(); }

  private:
    FileDescriptor file_;
};

/// Removes a folder of this user's whose claim has died; others, and links, stay.
/// @returns whether it was removed
bool remove_if_abandoned(const std::filesystem::path& folder, const std::string& mark);

}  // namespace dtrain
