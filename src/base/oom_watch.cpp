// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/oom_watch.hpp"

#include <algorithm>
#include <array>
#include <system_error>

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/text.hpp"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t no_limit_from = std::int64_t{1} << 60;  // version 1 writes "none" as a huge number

/// The number behind `name` in lines of "name number".
std::optional<std::int64_t> field_of(const fs::path& file, std::string_view name) {
    const auto content = read_file(file);
    if (!content) return std::nullopt;
    for (const auto& line : split(*content, '\n')) {
        const auto words = split(line, ' ');
        if (words.size() == 2 && words[0] == name) return parse_int<std::int64_t>(words[1]);
    }
    return std::nullopt;
}

struct Membership {
    int version = 2;
    std::string path;
};

/// Version 1's memory controller where it is mounted, else version 2's only hierarchy.
std::optional<Membership> memory_cgroup(std::string_view membership) {
    std::optional<Membership> unified;
    for (const auto& line : split(membership, '\n')) {
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

fs::path counter_file(const fs::path& folder, int version) {
    return folder / (version == 2 ? "memory.events" : "memory.oom_control");
}

}  // namespace

std::string bytes_text(std::int64_t bytes) {
    constexpr std::array<const char*, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
    auto amount = static_cast<double>(bytes);
    std::size_t unit = 0;
    for (; amount >= 1024 && unit + 1 < units.size(); ++unit) amount /= 1024;
    const bool whole = amount == static_cast<double>(static_cast<std::int64_t>(amount));
    return whole ? fmt::format("{:.0f} {}", amount, units[unit])
                 : fmt::format("{:.1f} {}", amount, units[unit]);
}

std::string OomKills::to_sentence() const {
    const auto processes = fmt::format("{} process{}", count, count == 1 ? "" : "es");
    if (cgroup.empty())
        return fmt::format("the kernel's OOM killer ended {} on this machine meanwhile", processes);
    const auto allowed = limit ? fmt::format(" (limit {})", bytes_text(*limit)) : "";
    return fmt::format("the kernel's OOM killer ended {} of memory cgroup {}{}", processes, cgroup, allowed);
}

OomWatch::OomWatch(const OomSources& sources) : sources_(sources) {
    if (const auto own = memory_cgroup(read_file(sources.membership).value_or(""))) {
        version_ = own->version;
        root_ = version_ == 1 ? sources.cgroups / "memory" : sources.cgroups;
        folder_ = root_ / fs::path(own->path).relative_path();
        // A container that sees its own cgroup as the root of all may be told its path from outside.
        if (!fs::exists(counter_file(folder_, version_))) folder_ = root_;
    }
    cgroup_before_ = count_of_cgroup();
    machine_before_ = count_of_machine();
}

std::optional<OomKills> OomWatch::kills_since() const {
    const auto in_cgroup = count_of_cgroup();
    if (in_cgroup && cgroup_before_ && *in_cgroup > *cgroup_before_)
        return OomKills{.count = *in_cgroup - *cgroup_before_, .cgroup = name(), .limit = limit()};
    const auto on_machine = count_of_machine();
    if (on_machine && machine_before_ && *on_machine > *machine_before_)
        return OomKills{.count = *on_machine - *machine_before_};
    if (!in_cgroup && !on_machine) return std::nullopt;
    return OomKills{};
}

std::string OomWatch::name() const {
    return folder_ == root_ ? "/" : "/" + folder_.lexically_relative(root_).string();
}

std::optional<std::int64_t> OomWatch::count_of_cgroup() const {
    if (folder_.empty()) return std::nullopt;
    auto sum = field_of(counter_file(folder_, version_), "oom_kill");
    if (!sum || version_ == 2 || folder_ == root_) return sum;
    std::error_code error;  // version 1 counts each cgroup by itself
    for (fs::recursive_directory_iterator entry(folder_, error), end; !error && entry != end;
         entry.increment(error))
        if (entry->path().filename() == "memory.oom_control" && entry.depth() > 0)
            *sum += field_of(entry->path(), "oom_kill").value_or(0);
    return sum;
}

std::optional<std::int64_t> OomWatch::count_of_machine() const {
    return field_of(sources_.machine, "oom_kill");
}

/// The lowest limit from the cgroup up to the root: each of them can be what was hit.
std::optional<std::int64_t> OomWatch::limit() const {
    std::optional<std::int64_t> lowest;
    for (auto folder = folder_;; folder = folder.parent_path()) {
        const auto text = read_file(folder / (version_ == 2 ? "memory.max" : "memory.limit_in_bytes"));
        const auto bytes = text ? parse_int<std::int64_t>(trimmed(*text)) : std::nullopt;
        if (bytes && *bytes < no_limit_from && (!lowest || *bytes < *lowest)) lowest = bytes;
        if (folder == root_ || folder == folder.parent_path()) return lowest;
    }
}

}  // namespace dtrain
