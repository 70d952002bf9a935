// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace dtrain::comm {

/// How one waits for another rank: spins for as long as an answer usually takes, then lets others have the
/// processor, then sleeps. `crowded`: there are more ranks than processors, so that spinning keeps the other
/// one from answering.
class Backoff {
  public:
    using Clock = std::chrono::steady_clock;

    /// @param yields_for how long others may have the processor, behind the spins
    explicit Backoff(bool crowded, std::chrono::microseconds yields_for = std::chrono::microseconds(100))
        : spins_(crowded ? 20 : 3000), yields_for_(yields_for) {}

    /// Passes a moment; false when it is time to sleep.
    bool pass_moment();

    /// Something has happened: begins again.
    void renew();

    /// Since the first call or renew() that found nothing to do for some microseconds.
    std::chrono::duration<double> waited() const;

  private:
    int spins_;
    std::chrono::microseconds yields_for_;
    int passed_ = 0;
    Clock::time_point since_{};
};

}  // namespace dtrain::comm
