// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <span>
#include <vector>

#include <dtrain/communicator.hpp>

namespace dtrain::train {

/// How the time of steps was spent, in seconds.
struct PhaseTimes {
    double compute = 0;
    double communicate = 0;
    double wait = 0;   ///< for slower ranks
    double input = 0;  ///< for the next batch
};

/// Measures the steps of one rank. An exchange ends when the slowest rank has arrived: how much of it was
/// waiting is found by comparing the ranks' exchange times of each step.
class PhaseClock {
  public:
    /// @param exchanged Executor::exchange_time()
    void begin_step(std::chrono::nanoseconds exchanged);
    void end_step(std::chrono::nanoseconds exchanged);

    /// Runs the part of a step that gets a batch.
    template <class Feed>
    void feed(const Feed& get) {
        const auto begin = Clock::now();
        get();
        fed_ += Clock::now() - begin;
    }

    /// Exchange time in seconds of each step since the last settle().
    const std::vector<float>& exchanges() const { return exchanges_; }
    bool is_full() const { return exchanges_.size() >= max_kept; }

    /// @param shortest the minimum of exchanges() over all ranks, for each step
    void settle(std::span<const float> shortest);
    /// The same for the ranks of a communicator: the rank with the shortest exchange of a step has not
    /// waited. Collective.
    void settle(const Communicator& ranks);
    /// Call it if the ranks do not compare.
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

}  // namespace dtrain::train
