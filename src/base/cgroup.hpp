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

/// The cgroup of a process for one controller.
struct Cgroup {
    int version = 2;
    std::filesystem::path folder;
    std::filesystem::path root;  ///< root of all cgroups of the controller

    /// The kernel's name of it: "/slurm/job_7".
    std::string name() const;
    /// The folders from this cgroup up to the root: each of them may have a limit.
    std::vector<std::filesystem::path> up_to_root() const;
};

/// The cgroup of version 1's controller if it is mounted, else of version 2's only hierarchy; nothing if the
/// process is in neither.
/// @param membership content of /proc/self/cgroup
/// @param file_of a file that such a cgroup has, by version
std::optional<Cgroup> cgroup_in(const std::filesystem::path& cgroups, std::string_view membership,
                                std::string_view controller, const std::function<const char*(int)>& file_of);

/// The number in a file of a cgroup; nothing if there is no file, or no limit.
std::optional<std::int64_t> number_in_cgroup(const std::filesystem::path& file);

/// The number after `name`, in lines of "name number".
std::optional<std::int64_t> number_after(const std::filesystem::path& file, std::string_view name);

/// The lowest number in this file of the cgroup and those above it, since each of them may be the limit that
/// was hit.
std::optional<std::int64_t> lowest_limit(const Cgroup& cgroup, std::string_view file);

/// The name of the process's cgroup if it is frozen, itself or with one above it.
/// @param membership content of /proc/PID/cgroup
std::optional<std::string> frozen_cgroup(const std::filesystem::path& cgroups, std::string_view membership);

}  // namespace dtrain
