// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/memory_cgroup.hpp"

#include <algorithm>
#include <string>

#include "base/files.hpp"
#include "base/text.hpp"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t no_limit_from = std::int64_t{1} << 60;  // version 1 writes "none" as a huge number

struct Membership {
    int version = 2;
    std::string path;
};

std::optional<Membership> membership_in(std::string_view lines) {
    std::optional<Membership> unified;
    for (const auto& line : split(lines, '\n')) {
        const auto first = line.find(':');
        const auto second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const auto controllers = split(line.substr(first + 1, second - first - 1), ',');
        const auto path = line.substr(second + 1);
        if (std::find(controllers.begin(), controllers.end(), "memory") != controllers.end())
            return Membership{1, path};
        if (line.starts_with("0::")) unified = Membership{2, path};
    }
    return unified;
}

}  // namespace

fs::path MemoryCgroup::counters() const {
    return folder / (version == 2 ? "memory.events" : "memory.oom_control");
}

std::vector<fs::path> MemoryCgroup::up_to_root() const {
    std::vector<fs::path> folders{folder};
    while (folders.back() != root && folders.back() != folders.back().parent_path())
        folders.push_back(folders.back().parent_path());
    return folders;
}

std::optional<MemoryCgroup> memory_cgroup_in(const fs::path& cgroups, std::string_view membership) {
    const auto own = membership_in(membership);
    if (!own) return std::nullopt;
    MemoryCgroup out{
        .version = own->version, .folder = {}, .root = own->version == 1 ? cgroups / "memory" : cgroups};
    out.folder = out.root / fs::path(own->path).relative_path();
    // A container that sees its own cgroup as the root of all may be told its path from outside.
    if (!fs::exists(out.counters())) out.folder = out.root;
    return out;
}

std::optional<std::int64_t> number_in_cgroup(const fs::path& file) {
    const auto text = read_file(file);
    const auto number = text ? parse_int<std::int64_t>(trimmed(*text)) : std::nullopt;
    return number && *number < no_limit_from ? number : std::nullopt;
}

std::optional<std::int64_t> number_behind(const fs::path& file, std::string_view name) {
    const auto content = read_file(file);
    if (!content) return std::nullopt;
    for (const auto& line : split(*content, '\n')) {
        const auto words = split(line, ' ');
        if (words.size() == 2 && words[0] == name) return parse_int<std::int64_t>(words[1]);
    }
    return std::nullopt;
}

}  // namespace dtrain
