// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <dtrain/environment.hpp>

namespace dtrain::ps {

/// A server's own word of why it failed, in its own log: its trainers say it in theirs, and whoever opens the
/// log of the server that failed must find more than nothing. dtrain-launch's report shows the line.
class FailureLine {
  public:
    /// Nothing is written where no supervisor gives this process a log: the trainers' line is on the same
    /// console then.
    FailureLine(std::uint32_t server, const Environment& environment);

    /// "dtrain: parameter server 1: WHY" on stderr, the first time.
    void tell(std::string_view why);

  private:
    std::uint32_t server_;
    bool is_reported_;
};

}  // namespace dtrain::ps
