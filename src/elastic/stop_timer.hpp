// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "base/files.hpp"
#include "elastic/boot_clock.hpp"

namespace dtrain::elastic {

/// Tells a running job through a file descriptor when it must stop. What watches it needs nobody to be alive
/// or awake for that: the kernel keeps the time. Any thread may call any member.
class StopTimer {
  public:
    StopTimer();

    /// Becomes readable when the job has to stop, and once more, after the grace, when it has to be gone at
    /// once. A read gives 8 bytes, as of a timerfd.
    int fd() const { return timer_.get(); }
    bool has_reported() const;  ///< fd() is readable

    /// Stop at `when`, unless put off by another call before.
    void stop_at(BootClock::time_point when, std::chrono::milliseconds grace) const;
    void stop_now(std::chrono::milliseconds grace) const;
    void never() const;

  private:
    FileDescriptor timer_;
};

}  // namespace dtrain::elastic
