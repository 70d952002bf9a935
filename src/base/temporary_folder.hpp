// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace dtrain {

/// A folder that only this user can enter, gone with the object.
class TemporaryFolder {
  public:
    TemporaryFolder();  ///< below /tmp, or $TMPDIR
    explicit TemporaryFolder(const std::filesystem::path& parent);
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder();
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

}  // namespace dtrain
