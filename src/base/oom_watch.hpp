// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/memory_cgroup.hpp"

namespace dtrain {

/// What the kernel's OOM killer did during a watch.
struct OomKills {
    std::int64_t count = 0;
    std::string cgroup;  ///< memory cgroup whose limit was hit; empty: counted for the whole machine
    std::optional<std::int64_t> limit;  ///< bytes that this cgroup may use, if limited
    /// Counted for the whole machine, while this process's memory cgroup has a counter, too, and counted
    /// none.
    bool outside = false;

    /// "the kernel's OOM killer ended 1 process of memory cgroup /job_7 (limit 256 MiB)".
    std::string to_sentence() const;
    friend bool operator==(const OomKills&, const OomKills&) = default;
};

/// Where the kernel has its counters; test folders in tests.
struct OomSources {
    std::filesystem::path cgroups = "/sys/fs/cgroup";
    std::filesystem::path membership = "/proc/self/cgroup";
    std::filesystem::path machine = "/proc/vmstat";
};

/// Compares the OOM killer's counters with their values at the beginning of the watch: those of this
/// process's memory cgroup and, since a killed process may have had its own cgroup that no longer exists,
/// that of the machine. Supports cgroups of version 2 (memory.events, which includes the cgroups below) and 1
/// (memory.oom_control).
class OomWatch {
  public:
    explicit OomWatch(const OomSources& sources = {});

    /// Nothing if there are no counters here.
    std::optional<OomKills> kills_since() const;

  private:
    std::optional<std::int64_t> count_of_cgroup() const;
    std::optional<std::int64_t> count_of_machine() const;

    OomSources sources_;
    std::optional<MemoryCgroup> cgroup_;
    std::optional<std::int64_t> cgroup_before_;
    std::optional<std::int64_t> machine_before_;
};

/// "1.5 GiB": bytes for people, in the largest unit with a value of at least 1.
std::string bytes_text(std::int64_t bytes);

}  // namespace dtrain
