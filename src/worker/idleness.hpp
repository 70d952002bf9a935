// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

#include "cluster/event.hpp"

namespace dtrain::worker {

/// What a rank's processes have done since their start.
struct Activity {
    std::chrono::milliseconds cpu_time{0};
    std::uintmax_t output = 0;     ///< bytes
    std::uint64_t operations = 0;  ///< that have ended, of those that are recorded
    bool records_operations = false;
    /// How long it has waited for an operation that goes on; none: it does not wait, or that is not recorded.
    std::optional<std::chrono::milliseconds> waited = {};
};

/// Decides from samples whether a rank does nothing that others could wait for: for the whole of `timeout` it
/// printed nothing and ended no operation, and
/// - used less than 1% of one core, or
/// - waited in one operation, however busily, or
/// - records its operations, and nothing of it has changed for four times as long: a rank that computes may
///   evaluate or compile. Has no clock of its own.
class Idleness {
  public:
    using Clock = std::chrono::steady_clock;

    explicit Idleness(std::chrono::milliseconds timeout) : timeout_(timeout) {}

    /// How often to sample.
    std::chrono::milliseconds interval() const;

    /// Adds a sample. One that comes much later than interval() discards the earlier ones: the whole job may
    /// have been suspended.
    void sample(Activity activity, Clock::time_point now);

    bool idle() const { return idle_.has_value(); }
    /// Valid only when idle.
    cluster::Inactivity kind() const { return *idle_; }
    /// How long the rank had been idle at the last sample. Valid only when idle.
    std::chrono::milliseconds idle_time() const;

  private:
    struct Sample {
        Clock::time_point at;
        Activity activity;
    };

    std::optional<cluster::Inactivity> inactivity() const;

    std::chrono::milliseconds timeout_;
    std::deque<Sample> samples_;  // those of the last timeout_, and the one before them
    Clock::time_point unchanged_since_;
    std::optional<cluster::Inactivity> idle_;
    Clock::time_point idle_since_;
};

}  // namespace dtrain::worker
