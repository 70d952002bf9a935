// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "spawn/outcome.hpp"

namespace dtrain::spawning {

/// The files by which a call of spawn() and its ranks communicate.
class SpawnFolder {
  public:
    explicit SpawnFolder(std::filesystem::path path) : path_(std::move(path)) {}

    const std::filesystem::path& path() const { return path_; }
    std::filesystem::path report() const { return path_ / "report.json"; }     ///< written by dtrain-launch
    std::filesystem::path messages() const { return path_ / "launcher.txt"; }  ///< stderr of dtrain-launch
    std::filesystem::path logs() const { return path_ / "log"; }

    /// Writes the input of the ranks.
    /// @throws std::system_error naming the file
    void write_request(const std::string& arguments, const std::vector<CallSoFar>& earlier) const;

    /// Called by a rank.
    /// @throws Error if they cannot be read
    std::string arguments() const;
    std::vector<CallSoFar> earlier_calls() const;

    /// Called by a rank.
    /// @throws std::system_error naming the file
    void write_result(int rank, const std::string& result) const;
    void write_failure(int rank, const std::string& message) const;

    std::optional<std::string> result(int rank) const;
    std::optional<std::string> failure(int rank) const;

    /// The first of the ranks that reported a failure.
    std::optional<int> first_failure(int ranks) const;

  private:
    std::filesystem::path path_;
};

}  // namespace dtrain::spawning
