// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <dtrain/environment.hpp>

namespace dtrain::ps {

/// Writes why a server failed into its own log and its error file. Its trainers report it in theirs, but the
/// log of the failed server should not be empty, and it is the cause.
class FailureLine {
  public:
    /// Writes nothing if no supervisor gives this process its own log: the trainers' line is then on the same
    /// console.
    FailureLine(std::uint32_t server, const Environment& environment);

    /// Prints "dtrain: parameter server 1: WHY" on stderr and leaves it for dtrain-launch, the first time
    /// only.
    void report(std::string_view why);

  private:
    std::uint32_t server_;
    bool is_reported_;
};

}  // namespace dtrain::ps
