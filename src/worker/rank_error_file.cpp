// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/rank_error_file.hpp"

#include <dtrain/error.hpp>

namespace dtrain::worker {
namespace {

constexpr const char* error_file_name = "error.json";

std::filesystem::path folder_for(const Environment& environment, const std::filesystem::path& log_folder) {
    try {
        return temporary_directory(environment);
    } catch (const UsageError&) {
        return log_folder;
    }
}

}  // namespace

RankErrorFile::RankErrorFile(const Environment& environment, const std::filesystem::path& log_folder)
    : folder_(std::make_unique<TemporaryFolder>(folder_for(environment, log_folder))),
      path_(std::filesystem::path(folder_->path()) / error_file_name) {}

RankErrorFile RankErrorFile::kept_in(const std::filesystem::path& folder) {
    RankErrorFile out;
    out.path_ = folder / error_file_name;
    return out;
}

void RankErrorFile::announce(Environment& program) const {
    // In a job inside a rank of another one, both are the other rank's.
    const auto torchs = program.get(torch_error_file_variable);
    if (!torchs || torchs == program.get(error_file_variable))
        program.set(torch_error_file_variable, path().string());
    program.set(error_file_variable, path().string());
}

}  // namespace dtrain::worker
