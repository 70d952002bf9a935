// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "base/folder_claim.hpp"

namespace dtrain::ps {

/// A new folder for the rows of one table, named with the process' number; removed at the end. What processes
/// that were killed have left is removed by the next one that comes.
class SpillFolder {
  public:
    /// @param parent made when it is not there
    /// @throws UsageError naming it when nothing can be written there
    explicit SpillFolder(const std::filesystem::path& parent);
    ~SpillFolder();
    SpillFolder(const SpillFolder&) = delete;
    SpillFolder& operator=(const SpillFolder&) = delete;

    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
    FolderClaim owner_;
};

}  // namespace dtrain::ps
