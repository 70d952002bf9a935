// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace dtrain::comm {

/// Waits for another rank: spins for as long as an answer usually takes, then yields the processor, then
/// sleeps. `crowded`: there are more ranks than processors, so that spinning would keep the other rank from
/// answering.
class Backoff {
  public:
    using Clock = std::chrono::steady_clock;

    /// @param yields_for how long to yield the processor after spinning
    explicit Backoff(bool crowded, std::chrono::microseconds yields_for = std::chrono::microseconds(100))
        : spins_(crowded ? 20 : 3000), yields_for_(yields_for) {}

    /// Spins or yields once; false when it is time to sleep.
    bool pass_moment();

    /// Something has happened: starts over.
    void renew();

    /// Time since the first call, or since renew(), without progress; starts after some moments.
    std::chrono::duration<double> waited() const;

  private:
    int spins_;
    std::chrono::microseconds yields_for_;
    int passed_ = 0;
    Clock::time_point since_{};
    Clock::time_point yields_since_{};
};

/// `limit` from now; the clock's last moment if that is longer than it can tell.
Backoff::Clock::time_point time_after(std::chrono::duration<double> limit);

}  // namespace dtrain::comm
