// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include <dtrain/environment.hpp>

#include "base/claimed_folder.hpp"

namespace dtrain {

/// The folder for temporary files: $TMPDIR, $TMP, $TEMP, $TEMPDIR, whichever is set first, or /tmp.
/// @throws UsageError naming the variable if there is no such folder, it is not writable, or its name is too
/// long for sockets below it
std::filesystem::path temporary_directory(const Environment& environment);

/// A folder that only this user can enter; the destructor removes it. remove_abandoned_folders() removes
/// those of killed processes.
class TemporaryFolder {
  public:
    TemporaryFolder();  ///< in the temporary_directory() of this process
    explicit TemporaryFolder(const std::filesystem::path& parent);
    const std::string& path() const { return folder_.path(); }
    int claim() const { return folder_.claim(); }

  private:
    ClaimedFolder folder_;
};

/// Removes the TemporaryFolders in `parent` that killed processes of this user have left.
/// @returns the number of removed folders
int remove_abandoned_folders(const std::filesystem::path& parent);

/// Removes one TemporaryFolder if the process that created it is gone.
bool remove_abandoned_folder(const std::filesystem::path& folder);

}  // namespace dtrain
