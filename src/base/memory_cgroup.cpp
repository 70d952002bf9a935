// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/memory_cgroup.hpp"

namespace dtrain {
namespace {

const char* counters_name(int version) {
    return version == 2 ? "memory.events" : "memory.oom_control";
}

}  // namespace

std::filesystem::path MemoryCgroup::counters() const {
    return folder / counters_name(version);
}

std::optional<MemoryCgroup> memory_cgroup_in(const std::filesystem::path& cgroups,
                                             std::string_view membership) {
    auto own = cgroup_in(cgroups, membership, "memory", counters_name);
    return own ? std::optional(MemoryCgroup{*std::move(own)}) : std::nullopt;
}

}  // namespace dtrain
