// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "metrics/progress.hpp"
#include "native/console.hpp"

namespace dtrain::native {

using metrics::Progress;
using metrics::time_left;

/// Shows progress: on a terminal as a line updated five times a second, else as one line per minute.
class ProgressLine {
  public:
    using Clock = std::chrono::steady_clock;

    /// @param shows false: shows nothing
    ProgressLine(const Console& console, bool shows, Clock::time_point now);

    bool is_due(Clock::time_point now) const { return now >= next_; }
    void show(const Progress& progress, Clock::time_point now);

  private:
    const Console& console_;
    Clock::time_point next_ = Clock::time_point::max();
};

}  // namespace dtrain::native
