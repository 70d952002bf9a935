// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <sys/types.h>

namespace dtrain::worker {

/// Warns once of processes that SIGKILL does not end. Has no clock of its own.
class SlowEnd {
  public:
    using Clock = std::chrono::steady_clock;

    /// The program is asked to end, and gets SIGKILL after the grace time. Only the first call counts.
    void begin(std::chrono::milliseconds grace, Clock::time_point now);

    /// Until warning() is due; -1: it never is.
    int ms_to_warning(Clock::time_point now) const;

    /// "" if it is not due, or nothing is left below the guard.
    std::string warning(pid_t guard, Clock::time_point now);

  private:
    std::optional<Clock::time_point> warn_at_;
    bool has_warned_ = false;
};

}  // namespace dtrain::worker
