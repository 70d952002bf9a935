// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace dtrain::native {

/// Whether this rank was asked to stop after a checkpoint: by SIGUSR1, which batch systems send some time
/// before they end a job, or by the time limit.
class StopRequest {
  public:
    using Clock = std::chrono::steady_clock;

    /// Installs the handler of SIGUSR1. @param limit counted from now
    explicit StopRequest(std::optional<std::chrono::duration<double>> limit);
    /// Restores the previous action of SIGUSR1.
    ~StopRequest();
    StopRequest(const StopRequest&) = delete;
    StopRequest& operator=(const StopRequest&) = delete;

    /// "SIGUSR1" or "the time limit"; nothing if there is no request.
    std::optional<std::string> reason() const;

  private:
    std::optional<Clock::time_point> end_;
};

}  // namespace dtrain::native
