// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/cgroup.hpp"

namespace dtrain {

/// Where the kernel has its counters; test folders in tests.
struct PidsSources {
    std::filesystem::path cgroups = "/sys/fs/cgroup";
    std::filesystem::path membership = "/proc/self/cgroup";
};

/// Detects that processes could not be started because a cgroup had reached its maximum number of processes
/// (pids.max: limits of containers, TasksMax of systemd). Supports cgroups of version 2 and 1, using
/// pids.events of this process's cgroup and of those above: kernels differ in where they count.
class PidsWatch {
  public:
    explicit PidsWatch(const PidsSources& sources = {});

    /// "the limit of processes and threads of cgroup /job_7 (pids.max 64) was reached 3 times"; nothing if it
    /// was not reached since the watch began.
    std::optional<std::string> reached_since() const;

  private:
    std::int64_t refused() const;

    std::optional<Cgroup> cgroup_;
    std::int64_t before_ = 0;
};

}  // namespace dtrain
