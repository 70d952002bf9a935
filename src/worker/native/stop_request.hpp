// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace dtrain::native {

/// Whether this rank was asked to stop after a checkpoint: by SIGUSR1, which batch systems send some time
/// before they end a job, or because its time is over.
class StopRequest {
  public:
    using Clock = std::chrono::steady_clock;

    /// From now on SIGUSR1 asks. @param limit from now on
    explicit StopRequest(std::optional<std::chrono::duration<double>> limit);
    /// SIGUSR1 does again what it did before.
    ~StopRequest();
    StopRequest(const StopRequest&) = delete;
    StopRequest& operator=(const StopRequest&) = delete;

    /// "SIGUSR1" or "the time limit"; nothing when nobody asks.
    std::optional<std::string> reason() const;

  private:
    std::optional<Clock::time_point> end_;
};

}  // namespace dtrain::native
