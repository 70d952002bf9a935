// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

#include "protocol/event.hpp"
#include "protocol/hang_limit.hpp"
#include "worker/learned_limit.hpp"

namespace dtrain::worker {

/// What a rank's processes have done since their start.
struct Activity {
    std::chrono::milliseconds cpu_time{0};
    std::chrono::milliseconds cpu_wait{0};  ///< its threads were ready to run, but the processors were busy
    std::uintmax_t output = 0;              ///< bytes
    std::uintmax_t moved = 0;               ///< bytes read from and written to files, pipes and sockets
    std::uint64_t operations = 0;           ///< that have ended, of those that are recorded
    bool records_operations = false;
    /// How long it has waited for an operation that goes on; none: it does not wait, or that is not recorded.
    std::optional<std::chrono::milliseconds> waited = {};
};

/// Decides from samples whether a rank does nothing that others could wait for: for the whole of its limit it
/// printed nothing and ended no operation, and
/// - used less than 2% of one core, and waited for a core for less than a quarter of the time (else the node
///   has too much to do), and read and wrote less than 1 MiB/s (else it may load data, or write a
///   checkpoint); or
/// - waited in one operation, however busily, or
/// - records its operations, and nothing of it has changed for four times as long: a rank that computes may
///   evaluate or compile; ten times before its first operation has ended: it starts. Has no clock of its own.
class Idleness {
  public:
    using Clock = std::chrono::steady_clock;

    explicit Idleness(cluster::HangLimit limit);

    /// At present.
    std::chrono::milliseconds limit() const { return learned_ ? learned_->value() : fixed_limit_; }

    /// How often to sample.
    std::chrono::milliseconds interval() const;

    /// Adds a sample. One that comes much later than interval() discards the earlier ones: the whole job may
    /// have been suspended.
    void sample(Activity activity, Clock::time_point now);

    /// The program did something at that time which no sample has shown.
    void note_progress(Clock::time_point at);

    bool idle() const { return idle_.has_value(); }
    /// Valid only when idle.
    cluster::Inactivity kind() const { return *idle_; }
    /// Since when. Valid only when idle.
    Clock::time_point idle_since() const { return idle_since_; }
    /// How long the rank had been idle at the last sample. Valid only when idle.
    std::chrono::milliseconds idle_time() const;

  private:
    struct Sample {
        Clock::time_point at;
        Activity activity;
    };

    std::optional<cluster::Inactivity> inactivity() const;

    std::chrono::milliseconds fixed_limit_;
    std::optional<LearnedLimit> learned_;
    std::deque<Sample> samples_;  // those of the last limit(), and the one before them
    Clock::time_point unchanged_since_;
    std::optional<cluster::Inactivity> idle_;
    Clock::time_point idle_since_;
};

}  // namespace dtrain::worker
