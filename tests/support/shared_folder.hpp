// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "support/temporary_folder.hpp"
#include "support/test_world.hpp"

namespace dtrain::tests {

/// A folder that all ranks see.
class SharedFolder {
  public:
    SharedFolder() : path_(test_world().broadcast(own_.path().string())) {}
    SharedFolder(const SharedFolder&) = delete;
    SharedFolder& operator=(const SharedFolder&) = delete;
    ~SharedFolder() { test_world().barrier(); }

    std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
    const std::filesystem::path& path() const { return path_; }

  private:
    TemporaryFolder own_;
    std::filesystem::path path_;
};

}  // namespace dtrain::tests
