// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>

#include "ps/metrics/log_histogram.hpp"

namespace dtrain::ps {

/// The load of a server over some time.
struct ServerLoad {
    LogHistogram answers;         ///< of pulls, without waiting for other trainers
    LogHistogram updates;         ///< from the messages of a step to the updated parameters and rows
    std::size_t max_waiting = 0;  ///< maximum number of pulls waiting for other trainers at the same time
};

/// Adds its own lifetime, from construction to destruction, to a histogram.
class Timed {
  public:
    explicit Timed(LogHistogram& times) : times_(times) {}
    Timed(const Timed&) = delete;
    Timed& operator=(const Timed&) = delete;
    ~Timed() { times_.add(std::chrono::steady_clock::now() - begin_); }

  private:
    LogHistogram& times_;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace dtrain::ps
