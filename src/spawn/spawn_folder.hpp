// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "spawn/outcome.hpp"

namespace dtrain::spawning {

/// The files by which a call of spawn() and its ranks speak to each other.
class SpawnFolder {
  public:
    explicit SpawnFolder(std::filesystem::path path) : path_(std::move(path)) {}

    const std::filesystem::path& path() const { return path_; }
    std::filesystem::path report() const { return path_ / "report.json"; }     ///< of dtrain-launch
    std::filesystem::path messages() const { return path_ / "launcher.txt"; }  ///< what it complains of
    std::filesystem::path logs() const { return path_ / "log"; }

    /// For the ranks. @throws std::system_error naming the file
    void write_request(const std::string& arguments, const std::vector<CallSoFar>& earlier) const;

    /// In a rank. @throws Error when they cannot be read
    std::string arguments() const;
    std::vector<CallSoFar> earlier_calls() const;

    /// By a rank. @throws std::system_error naming the file
    void write_result(int rank, const std::string& result) const;
    void write_failure(int rank, const std::string& message) const;

    std::optional<std::string> result(int rank) const;
    std::optional<std::string> failure(int rank) const;

    /// Of ranks that said why they failed, the one that did so first.
    std::optional<int> first_failure(int ranks) const;

  private:
    std::filesystem::path path_;
};

}  // namespace dtrain::spawning
