// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>

namespace dtrain::worker {

/// What a rank's processes have done since their start.
struct Activity {
    std::chrono::milliseconds cpu_time{0};
    std::uintmax_t output = 0;  ///< bytes
};

/// Decides from samples whether a rank is idle: for the whole of `timeout` nothing was printed and less than
/// 1% of one core was used. Has no clock of its own.
class Idleness {
  public:
    using Clock = std::chrono::steady_clock;

    explicit Idleness(std::chrono::milliseconds timeout) : timeout_(timeout) {}

    /// How often to sample.
    std::chrono::milliseconds interval() const;

    /// Adds a sample. One that comes much later than interval() discards the earlier ones: the whole job may
    /// have been suspended.
    void sample(Activity activity, Clock::time_point now);

    bool idle() const { return idle_; }
    /// How long the rank had been idle at the last sample. Valid only when idle.
    std::chrono::milliseconds idle_time() const;

  private:
    struct Sample {
        Clock::time_point at;
        Activity activity;
    };

    bool nothing_done() const;

    std::chrono::milliseconds timeout_;
    std::deque<Sample> samples_;  // those of the last timeout_, and the one before them
    bool idle_ = false;
    Clock::time_point idle_since_;
};

}  // namespace dtrain::worker
