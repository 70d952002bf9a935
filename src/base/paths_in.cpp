// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/paths_in.hpp"

#include <system_error>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> readable_paths(const fs::path& folder, std::error_code& error) {
    std::vector<fs::path> out;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
        out.push_back(entry->path());
    return out;
}

}  // namespace

std::vector<fs::path> paths_in(const fs::path& folder) {
    std::error_code ignored;
    return readable_paths(folder, ignored);
}

std::vector<fs::path> all_paths_in(const fs::path& folder) {
    std::error_code error;
    auto out = readable_paths(folder, error);
    if (error && error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory)
        throw UsageError(fmt::format("cannot read {}: {}", one_line(folder.string()), error.message()));
    return out;
}

}  // namespace dtrain
