// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "base/claimed_folder.hpp"

namespace dtrain::ps {

/// A new folder for the rows of one table, named after the process id and removed at the end. Folders left
/// behind by killed processes are removed by the next process that uses the same parent.
class SpillFolder {
  public:
    /// @param parent created if it does not exist
    /// @throws UsageError naming it if it is not writable
    explicit SpillFolder(const std::filesystem::path& parent);

    std::filesystem::path path() const { return folder_.path(); }

  private:
    ClaimedFolder folder_;
};

}  // namespace dtrain::ps
