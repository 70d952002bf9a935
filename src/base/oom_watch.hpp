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

/// What the kernel's OOM killer did while somebody watched.
struct OomKills {
    std::int64_t count = 0;
    std::string cgroup;  ///< memory cgroup whose limit was hit; empty: counted for the whole machine
    std::optional<std::int64_t> limit;  ///< bytes that this cgroup may use, if limited

    /// "the kernel's OOM killer ended 1 process of memory cgroup /job_7 (limit 256 MiB)".
    std::string to_sentence() const;
    friend bool operator==(const OomKills&, const OomKills&) = default;
};

/// Where the kernel shows its counters; folders made by hand in tests.
struct OomSources {
    std::filesystem::path cgroups = "/sys/fs/cgroup";
    std::filesystem::path membership = "/proc/self/cgroup";
    std::filesystem::path machine = "/proc/vmstat";
};

/// Compares the OOM killer's counters with what they were when the watch began: those of this process's
/// memory cgroup and, as a killed process may have had a cgroup of its own that is gone by then, that of the
/// machine. Cgroups of version 2 (memory.events, which includes the cgroups below) and 1
/// (memory.oom_control).
class OomWatch {
  public:
    explicit OomWatch(const OomSources& sources = {});

    /// Nothing when there are no counters here.
    std::optional<OomKills> kills_since() const;

  private:
    std::optional<std::int64_t> count_of_cgroup() const;
    std::optional<std::int64_t> count_of_machine() const;

    OomSources sources_;
    std::optional<MemoryCgroup> cgroup_;
    std::optional<std::int64_t> cgroup_before_;
    std::optional<std::int64_t> machine_before_;
};

/// "1.5 GiB": bytes for people, in the largest unit that leaves at least 1.
std::string bytes_text(std::int64_t bytes);

}  // namespace dtrain
