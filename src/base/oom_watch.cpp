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
    cgroup_ = memory_cgroup_in(sources.cgroups, read_file(sources.membership).value_or(""));
    cgroup_before_ = count_of_cgroup();
    machine_before_ = count_of_machine();
}

std::optional<OomKills> OomWatch::kills_since() const {
    const auto in_cgroup = count_of_cgroup();
    if (in_cgroup && cgroup_before_ && *in_cgroup > *cgroup_before_)
        return OomKills{.count = *in_cgroup - *cgroup_before_,
                        .cgroup = cgroup_->name(),
                        .limit = lowest_limit(*cgroup_, cgroup_->limit_name())};
    const auto on_machine = count_of_machine();
    if (on_machine && machine_before_ && *on_machine > *machine_before_)
        return OomKills{.count = *on_machine - *machine_before_, .outside = in_cgroup.has_value()};
    if (!in_cgroup && !on_machine) return std::nullopt;
    return OomKills{};
}

std::optional<std::int64_t> OomWatch::count_of_cgroup() const {
    if (!cgroup_) return std::nullopt;
    auto sum = number_after(cgroup_->counters(), "oom_kill");
    if (!sum || cgroup_->version == 2 || cgroup_->folder == cgroup_->root) return sum;
    std::error_code error;  // version 1 counts each cgroup separately
    for (fs::recursive_directory_iterator entry(cgroup_->folder, error), end; !error && entry != end;
         entry.increment(error))
        if (entry->path().filename() == "memory.oom_control" && entry.depth() > 0)
            *sum += number_after(entry->path(), "oom_kill").value_or(0);
    return sum;
}

std::optional<std::int64_t> OomWatch::count_of_machine() const {
    return number_after(sources_.machine, "oom_kill");
}

}  // namespace dtrain
