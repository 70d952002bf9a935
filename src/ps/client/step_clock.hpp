// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <dtrain/server_mode.hpp>

namespace dtrain::ps {

/// Counts a trainer's steps: which it has ended, which of them it has sent, and which pushes the servers have
/// not applied yet.
class StepClock {
  public:
    /// @param max_merged see ClientOptions::most_merged
    StepClock(ServerMode mode, int max_merged, std::size_t servers)
        : mode_(mode), max_merged_(max_merged), unapplied_(servers) {}

    /// Begins at a step of the servers.
    void start_at(std::int64_t step) { steps_ = step; }

    /// Number of steps that have ended.
    std::int64_t steps() const { return steps_; }
    /// Number of those whose gradients have been sent.
    std::int64_t sent_steps() const { return steps_ - unsent_steps_; }
    int unsent_steps() const { return unsent_steps_; }

    /// Ends a step whose gradients have been sent, or that has none.
    void end_sent_step() { ++steps_; }
    /// Ends a step whose gradients are to be merged with those of other steps.
    void end_merged_step() {
        ++steps_;
        ++unsent_steps_;
    }
    /// @returns the number of merged steps, all of which are sent now
    std::uint32_t send_merged_steps() { return static_cast<std::uint32_t>(std::exchange(unsent_steps_, 0)); }

    /// Whether the steps of a trainer are sent independently of those of others, several of them merged.
    bool merges_steps() const { return mode_ == ServerMode::async; }
    /// Whether servers count the steps of all trainers, so that one without gradients must pass its own.
    bool counts_steps_of_others() const {
        return mode_ == ServerMode::sync || mode_ == ServerMode::half_async;
    }
    /// Whether servers apply a step once all trainers have ended it.
    bool waits_for_all() const { return mode_ == ServerMode::sync; }
    /// Whether servers report each applied push to its trainer.
    bool has_acknowledgements() const { return !waits_for_all(); }

    /// Whether gradients of the current step can be sent before it ends: it is not merged with another one.
    bool sends_this_step() const { return !merges_steps() || (unsent_steps_ == 0 && are_all_applied()); }
    /// Whether no further step may be merged.
    bool must_send() const { return unsent_steps_ >= max_merged_; }
    /// How many of this trainer's steps the dense parameters must contain when the next step begins.
    std::int64_t min_known_steps() const { return steps_ - max_merged_ + 1; }
    /// Whether every step begins with the parameters after the one before.
    bool knows_each_step() const { return max_merged_ <= 1; }

    /// A push that ends a step was sent to a server, which will report that it is applied.
    void note_pushed(int server) { unapplied_[static_cast<std::size_t>(server)] = true; }
    void note_applied(int server) { unapplied_[static_cast<std::size_t>(server)] = false; }
    bool is_applied(int server) const { return !unapplied_[static_cast<std::size_t>(server)]; }
    bool are_all_applied() const { return std::ranges::none_of(unapplied_, std::identity()); }

  private:
    ServerMode mode_;
    int max_merged_;
    std::int64_t steps_ = 0;
    int unsent_steps_ = 0;
    std::vector<bool> unapplied_;  ///< by server
};

}  // namespace dtrain::ps
