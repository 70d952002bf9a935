// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>

#include <dtrain/environment.hpp>

#include "base/temporary_folder.hpp"

namespace dtrain::worker {

/// Where the processes of a rank's program record their operations: in memory, in a folder that only this
/// user can enter and that goes with this object.
class OperationsFolder {
  public:
    /// Without a place for it, the program records nothing.
    /// @param environment of the worker: says where temporary files are
    explicit OperationsFolder(const Environment& environment);

    /// Sets DTRAIN_OPERATION_LOG.
    void announce(Environment& program) const;

    /// Empty: there is none.
    std::filesystem::path path() const { return folder_ ? folder_->path() : ""; }

  private:
    std::unique_ptr<TemporaryFolder> folder_;
};

}  // namespace dtrain::worker
