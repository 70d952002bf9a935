// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <span>
#include <vector>

#include <dtrain/communicator.hpp>

namespace dtrain::model {

/// Where the time of steps went, in seconds.
struct PhaseTimes {
    double compute = 0;
    double communicate = 0;
    double wait = 0;   ///< for slower ranks
    double input = 0;  ///< until the next batch was there
};

/// Measures the steps of one rank. An exchange ends when the slowest rank has come: what of it was waiting
/// shows when the ranks compare how long each step's exchange took.
class PhaseClock {
  public:
    /// @param exchanged Executor::exchange_time()
    void begin_step(std::chrono::nanoseconds exchanged);
    void end_step(std::chrono::nanoseconds exchanged);

    /// Does a part of a step that gets a batch.
    template <class Feed>
    void feed(const Feed& get) {
        const auto begin = Clock::now();
        get();
        fed_ += Clock::now() - begin;
    }

    /// Seconds of each step's exchange since the last settle().
    const std::vector<float>& exchanges() const { return exchanges_; }
    bool is_full() const { return exchanges_.size() >= max_kept; }

    /// @param shortest of exchanges() on any rank; as many
    void settle(std::span<const float> shortest);
    /// The same of the ranks of a communicator: who exchanged for the shortest time in a step has waited for
    /// nobody. Collective.
    void settle(const Communicator& ranks);
    /// Nobody compares.
    void forget_exchanges() { exchanges_.clear(); }

    const PhaseTimes& times() const { return times_; }

  private:
    using Clock = std::chrono::steady_clock;
    static constexpr std::size_t max_kept = 1024;

    PhaseTimes times_;
    std::vector<float> exchanges_;
    Clock::time_point step_began_;
    Clock::duration fed_{0};
    std::chrono::nanoseconds exchanged_before_{0};
};

}  // namespace dtrain::model
