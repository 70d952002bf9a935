// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/table/spill_folder.hpp"

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/paths_in.hpp"

namespace dtrain::ps {
namespace {

constexpr const char* prefix = "dtrain-rows-";
constexpr const char* owner_file = "owner";

[[noreturn]] void refuse(const std::filesystem::path& folder, int error) {
    throw UsageError(fmt::format("rows of sparse tables cannot be put on disk in {}: {}; name another folder",
                                 folder.string(), std::strerror(error)));
}

void remove_leftovers(const std::filesystem::path& parent) {
    for (const auto& path : paths_in(parent))
        if (path.filename().string().starts_with(prefix)) remove_if_abandoned(path, owner_file);
}

ClaimedFolder new_folder_in(const std::filesystem::path& parent) {
    std::error_code error;
    std::filesystem::create_directories(parent, error);
    if (error) refuse(parent, error.value());
    remove_leftovers(parent);
    try {
        return {parent, fmt::format("{}{}-", prefix, ::getpid()), owner_file};
    } catch (const std::system_error& failed) {
        refuse(parent, failed.code().value());
    }
}

}  // namespace

SpillFolder::SpillFolder(const std::filesystem::path& parent) : folder_(new_folder_in(parent)) {
    if (const int error = folder_.claim_error()) refuse(parent, error);
}

}  // namespace dtrain::ps
