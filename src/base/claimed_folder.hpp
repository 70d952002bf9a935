// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/files.hpp"

namespace dtrain {

/// A new folder that only this user can enter; the destructor removes it. It is marked as in use by a lock,
/// which the kernel releases if the process is killed, and which processes of other containers see, too.
/// Wherever the process is killed, remove_if_abandoned() removes what it has left.
class ClaimedFolder {
  public:
    /// @param begin what its name begins with; six other letters follow
    /// @param mark the name of a file in the folder
    /// @throws std::system_error if it cannot be made
    ClaimedFolder(const std::filesystem::path& parent, std::string_view begin, const std::string& mark);
    ClaimedFolder(const ClaimedFolder&) = delete;
    ClaimedFolder& operator=(const ClaimedFolder&) = delete;
    ~ClaimedFolder();

    const std::string& path() const { return path_; }

    /// A process that has it, too, keeps the folder after this one has ended: open as long as this object.
    int claim() const { return lock_.get(); }

    /// 0, or the errno for which it has no claim, as of a file system without locks: remove_if_abandoned()
    /// never removes such a folder.
    int claim_error() const { return claim_error_; }

  private:
    std::string path_;
    FileDescriptor lock_;
    int claim_error_ = 0;
};

/// Removes a folder of this user whose claim is no longer held; keeps other folders, and links.
/// @returns whether it was removed
bool remove_if_abandoned(const std::filesystem::path& folder, const std::string& mark);

}  // namespace dtrain
