// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>

#include <dtrain/environment.hpp>

#include "base/error_file.hpp"
#include "base/temporary_folder.hpp"

namespace dtrain::worker {

/// The error file of a rank's program. It is in a folder of its own that only this user can enter, and that
/// goes with this object: nobody else can put anything there, and no earlier attempt has left one.
class RankErrorFile {
  public:
    /// @param environment of the worker: says where temporary files are
    /// @param log_folder where the folder is made if there is no place for temporary files
    /// @throws std::system_error if it cannot be made there either
    RankErrorFile(const Environment& environment, const std::filesystem::path& log_folder);

    /// A file that stays: error.json in `folder`, which only this attempt of this rank uses.
    static RankErrorFile kept_in(const std::filesystem::path& folder);

    /// Sets DTRAIN_ERROR_FILE, and TORCHELASTIC_ERROR_FILE unless the user has set it.
    void announce(Environment& program) const;

    ErrorFileContent read() const { return read_error_file(path()); }

    const std::filesystem::path& path() const { return path_; }

  private:
    RankErrorFile() = default;

    std::unique_ptr<TemporaryFolder> folder_;  ///< null: the file stays
    std::filesystem::path path_;
};

}  // namespace dtrain::worker
