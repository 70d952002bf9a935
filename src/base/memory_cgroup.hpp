// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace dtrain {

/// The memory cgroup that a process is in.
struct MemoryCgroup {
    int version = 2;
    std::filesystem::path folder;
    std::filesystem::path root;  ///< of all memory cgroups

    /// The name of a file of it: what it counts of out of memory.
    std::filesystem::path counters() const;
    /// From it up to the root: each of them may have a limit.
    std::vector<std::filesystem::path> up_to_root() const;
    const char* limit_name() const { return version == 2 ? "memory.max" : "memory.limit_in_bytes"; }
    const char* usage_name() const { return version == 2 ? "memory.current" : "memory.usage_in_bytes"; }
};

/// Version 1's memory controller where it is mounted, else version 2's only hierarchy; nothing when the
/// process is in none.
/// @param membership what the kernel says in /proc/self/cgroup
std::optional<MemoryCgroup> memory_cgroup_in(const std::filesystem::path& cgroups,
                                             std::string_view membership);

/// The number in a file of a cgroup; nothing when there is none, or it says that there is no limit.
std::optional<std::int64_t> number_in_cgroup(const std::filesystem::path& file);

/// The number behind `name` in lines of "name number".
std::optional<std::int64_t> number_behind(const std::filesystem::path& file, std::string_view name);

}  // namespace dtrain
