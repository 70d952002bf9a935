// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/available_memory.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/files.hpp"
#include "base/memory_cgroup.hpp"
#include "base/oom_watch.hpp"
#include "base/text.hpp"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

/// Parses "MemAvailable:   23045678 kB".
std::optional<std::int64_t> available_in(const std::string& meminfo) {
    constexpr std::string_view name = "MemAvailable:";
    for (const auto& line : split(meminfo, '\n')) {
        if (!line.starts_with(name)) continue;
        const auto words = split(trimmed(std::string_view(line).substr(name.size())), ' ');
        const auto kib = parse_int<std::int64_t>(words.front());
        if (kib && *kib >= 0 && *kib < std::numeric_limits<std::int64_t>::max() / 1024) return *kib * 1024;
    }
    return std::nullopt;
}

/// Memory of file pages, which the kernel reclaims first.
std::int64_t page_cache(const fs::path& folder, int version) {
    const std::string all = version == 2 ? "" : "total_";
    std::int64_t bytes = 0;
    for (const auto* name : {"inactive_file", "active_file"})
        bytes += std::max<std::int64_t>(0, number_after(folder / "memory.stat", all + name).value_or(0));
    return bytes;
}

std::optional<std::int64_t> left_in(const MemoryCgroup& cgroup) {
    std::optional<std::int64_t> min;
    for (const auto& folder : cgroup.up_to_root()) {
        const auto limit = number_in_cgroup(folder / cgroup.limit_name());
        const auto used = number_in_cgroup(folder / cgroup.usage_name());
        if (limit && used) {
            const auto left =
                std::clamp<std::int64_t>(*limit - *used + page_cache(folder, cgroup.version), 0, *limit);
            min = std::min(min.value_or(left), left);
        }
    }
    return min;
}

/// The available memory if it is less than `bytes`, else nothing.
std::optional<std::int64_t> too_little_for(std::int64_t bytes) {
    // For small sizes the query takes longer than reading the data.
    constexpr std::int64_t always_available = 16 << 20;
    if (bytes <= always_available) return std::nullopt;
    const auto left = available_memory();
    return left && bytes > *left ? left : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> available_memory(const MemorySources& sources) {
    auto bytes = available_in(read_file(sources.machine).value_or(""));
    if (const auto cgroup = memory_cgroup_in(sources.cgroups, read_file(sources.membership).value_or("")))
        if (const auto left = left_in(*cgroup)) bytes = std::min(bytes.value_or(*left), *left);
    return bytes;
}

void check_memory_at_hand(const std::string& what, std::int64_t values, std::int64_t element_bytes) {
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(values, element_bytes, &bytes))
        throw UsageError(fmt::format("{} has {} values, more than memory holds", what, values));
    if (const auto left = too_little_for(bytes))
        throw UsageError(
            fmt::format("{} has {} values, more than memory holds: they take {}, and {} are left", what,
                        values, bytes_text(bytes), bytes_text(*left)));
}

void check_memory_at_hand(const std::string& what, std::int64_t bytes) {
    if (const auto left = too_little_for(bytes))
        throw UsageError(fmt::format("{} is larger than the memory: it takes {}, and {} are left", what,
                                     bytes_text(bytes), bytes_text(*left)));
}

}  // namespace dtrain
