// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "base/cgroup.hpp"

namespace dtrain {

/// The memory cgroup of a process.
struct MemoryCgroup : Cgroup {
    /// The file that counts out-of-memory events.
    std::filesystem::path counters() const;
    const char* limit_name() const { return version == 2 ? "memory.max" : "memory.limit_in_bytes"; }
    const char* usage_name() const { return version == 2 ? "memory.current" : "memory.usage_in_bytes"; }
};

/// Like cgroup_in(), for the controller "memory".
std::optional<MemoryCgroup> memory_cgroup_in(const std::filesystem::path& cgroups,
                                             std::string_view membership);

}  // namespace dtrain
