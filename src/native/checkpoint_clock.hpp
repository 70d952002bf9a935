// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

namespace dtrain::native {

/// Decides whether a checkpoint is due by the time since the last one or since the start.
class CheckpointClock {
  public:
    using Clock = std::chrono::steady_clock;

    /// @param every nothing: never due
    CheckpointClock(std::optional<Clock::duration> every, Clock::time_point now)
        : every_(every), last_(now) {}

    bool is_on() const { return every_.has_value(); }
    bool is_due(Clock::time_point now) const { return every_ && now - last_ >= *every_; }
    void note_checkpoint(Clock::time_point now) { last_ = now; }

  private:
    std::optional<Clock::duration> every_;
    Clock::time_point last_;
};

}  // namespace dtrain::native
