// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dtrain {

/// The cgroup of a controller that a process is in.
struct Cgroup {
    int version = 2;
    std::filesystem::path folder;
    std::filesystem::path root;  ///< of all cgroups of the controller

    /// As the kernel calls it: "/slurm/job_7".
    std::string name() const;
    /// From it up to the root: each of them may have a limit.
    std::vector<std::filesystem::path> up_to_root() const;
};

/// Version 1's controller where it is mounted, else version 2's only hierarchy; nothing when the process is
/// in none.
/// @param membership what the kernel says in /proc/self/cgroup
/// @param file_of what file such a cgroup has, by its version
std::optional<Cgroup> cgroup_in(const std::filesystem::path& cgroups, std::string_view membership,
                                std::string_view controller, const std::function<const char*(int)>& file_of);

/// The number in a file of a cgroup; nothing when there is none, or it says that there is no limit.
std::optional<std::int64_t> number_in_cgroup(const std::filesystem::path& file);

/// The number behind `name` in lines of "name number".
std::optional<std::int64_t> number_behind(const std::filesystem::path& file, std::string_view name);

/// The lowest number in this file of the cgroup and those above: each of them can be what was hit.
std::optional<std::int64_t> lowest_limit(const Cgroup& cgroup, std::string_view file);

}  // namespace dtrain
