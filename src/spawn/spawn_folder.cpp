// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "spawn/spawn_folder.hpp"

#include <sys/types.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/files.hpp"

namespace dtrain::spawning {
namespace {

constexpr mode_t owner_only = 0600;

std::filesystem::path numbered(const std::filesystem::path& folder, const char* what, int rank) {
    return folder / fmt::format("{}.{}", what, rank);
}

std::string needed(const std::filesystem::path& file) {
    auto content = read_file(file);
    if (!content)
        throw Error(
            fmt::format("a rank of spawn() cannot read {}, which it was started with", file.string()));
    return *std::move(content);
}

}  // namespace

void SpawnFolder::write_request(const std::string& arguments, const std::vector<CallState>& earlier) const {
    std::string calls;
    SpawnValue<std::vector<CallState>>::write(earlier, calls);
    replace_file_without_sync(path_ / "arguments", arguments, owner_only);
    replace_file_without_sync(path_ / "earlier", calls, owner_only);
}

std::string SpawnFolder::arguments() const {
    return needed(path_ / "arguments");
}

std::vector<CallState> SpawnFolder::earlier_calls() const {
    const auto calls = needed(path_ / "earlier");
    SpawnBytes bytes(calls);
    return SpawnValue<std::vector<CallState>>::read(bytes);
}

void SpawnFolder::write_result(int rank, const std::string& result) const {
    replace_file_without_sync(numbered(path_, "result", rank), result, owner_only);
}

void SpawnFolder::write_failure(int rank, const std::string& message) const {
    replace_file_without_sync(numbered(path_, "failure", rank), message, owner_only);
}

std::optional<std::string> SpawnFolder::result(int rank) const {
    return read_file(numbered(path_, "result", rank));
}

std::optional<std::string> SpawnFolder::failure(int rank) const {
    return read_file(numbered(path_, "failure", rank));
}

std::optional<int> SpawnFolder::first_failure(int ranks) const {
    std::optional<int> first;
    std::filesystem::file_time_type earliest;
    for (int rank = 0; rank < ranks; ++rank) {
        std::error_code missing;
        const auto time = std::filesystem::last_write_time(numbered(path_, "failure", rank), missing);
        if (missing || (first && time >= earliest)) continue;
        first = rank;
        earliest = time;
    }
    return first;
}

}  // namespace dtrain::spawning
