// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/cgroup.hpp"

#include <algorithm>
#include <string>

#include "base/files.hpp"
#include "base/text.hpp"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t no_limit_from = std::int64_t{1} << 60;  // version 1 represents "no limit" by a huge
                                                               // number

struct Membership {
    int version = 2;
    std::string path;
};

std::optional<Membership> membership_in(std::string_view lines, std::string_view controller) {
    std::optional<Membership> unified;
    for (const auto& line : split(lines, '\n')) {
        const auto first = line.find(':');
        const auto second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const auto controllers = split(line.substr(first + 1, second - first - 1), ',');
        const auto path = line.substr(second + 1);
        if (std::find(controllers.begin(), controllers.end(), controller) != controllers.end())
            return Membership{1, path};
        if (line.starts_with("0::")) unified = Membership{2, path};
    }
    return unified;
}

}  // namespace

std::string Cgroup::name() const {
    return folder == root ? "/" : "/" + folder.lexically_relative(root).string();
}

std::vector<fs::path> Cgroup::up_to_root() const {
    std::vector<fs::path> folders{folder};
    while (folders.back() != root && folders.back() != folders.back().parent_path())
        folders.push_back(folders.back().parent_path());
    return folders;
}

std::optional<Cgroup> cgroup_in(const fs::path& cgroups, std::string_view membership,
                                std::string_view controller, const std::function<const char*(int)>& file_of) {
    const auto own = membership_in(membership, controller);
    if (!own) return std::nullopt;
    Cgroup out{
        .version = own->version, .folder = {}, .root = own->version == 1 ? cgroups / controller : cgroups};
    out.folder = out.root / fs::path(own->path).relative_path();
    // A container that sees its own cgroup as the root may be given its path as seen from outside.
    if (!fs::exists(out.folder / file_of(out.version))) out.folder = out.root;
    return out;
}

std::optional<std::int64_t> number_in_cgroup(const fs::path& file) {
    const auto text = read_file(file);
    const auto number = text ? parse_int<std::int64_t>(trimmed(*text)) : std::nullopt;
    return number && *number < no_limit_from ? number : std::nullopt;
}

std::optional<std::int64_t> number_after(const fs::path& file, std::string_view name) {
    const auto content = read_file(file);
    if (!content) return std::nullopt;
    for (const auto& line : split(*content, '\n')) {
        const auto words = split(line, ' ');
        if (words.size() == 2 && words[0] == name) return parse_int<std::int64_t>(words[1]);
    }
    return std::nullopt;
}

std::optional<std::int64_t> lowest_limit(const Cgroup& cgroup, std::string_view file) {
    std::optional<std::int64_t> lowest;
    for (const auto& folder : cgroup.up_to_root()) {
        const auto limit = number_in_cgroup(folder / file);
        if (limit && (!lowest || *limit < *lowest)) lowest = limit;
    }
    return lowest;
}

std::optional<std::string> frozen_cgroup(const fs::path& cgroups, std::string_view membership) {
    const auto cgroup = cgroup_in(cgroups, membership, "freezer", [](int version) {
        return version == 1 ? "freezer.state" : "cgroup.events";
    });
    if (!cgroup) return std::nullopt;
    const bool is_frozen = cgroup->version == 1
                               ? trimmed(read_file(cgroup->folder / "freezer.state").value_or("")) == "FROZEN"
                               : number_after(cgroup->folder / "cgroup.events", "frozen").value_or(0) == 1;
    return is_frozen ? std::optional(cgroup->name()) : std::nullopt;
}

}  // namespace dtrain
