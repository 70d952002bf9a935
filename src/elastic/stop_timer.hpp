// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "base/files.hpp"
#include "elastic/boot_clock.hpp"

namespace dtrain::elastic {

/// Notifies a running job through a file descriptor when it must stop. This works even if no thread of this
/// process runs: the kernel keeps the time. Thread-safe.
class StopTimer {
  public:
    StopTimer();

    /// Becomes readable when the job has to stop, and once more, after the grace time, when it has to be
    /// killed. Reading returns 8 bytes, as for a timerfd.
    int fd() const { return timer_.get(); }
    bool has_reported() const;  ///< whether fd() is readable

    /// Stops at `when`, unless a later call postpones it.
    void stop_at(BootClock::time_point when, std::chrono::milliseconds grace) const;
    void stop_now(std::chrono::milliseconds grace) const;
    void never() const;

  private:
    FileDescriptor timer_;
};

}  // namespace dtrain::elastic
