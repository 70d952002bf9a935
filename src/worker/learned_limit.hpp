// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace dtrain::worker {

/// After how long without an operation that ends and without output a rank counts as idle, from how long that
/// has lasted so far. Until 100 operations have ended: ten times the shortest limit. Then ten times the
/// longest quiet time after the second operation (the first one is the start of dtrain or MPI), but not less
/// than the shortest limit, and not more than ten times that, or than twice that quiet time if it is longer.
/// Has no clock of its own.
class LearnedLimit {
  public:
    using Clock = std::chrono::steady_clock;

    explicit LearnedLimit(std::chrono::milliseconds shortest) : shortest_(shortest) {}

    /// Call it at least as often as the limit is long.
    /// @param operations that have ended
    /// @param output bytes that were printed
    void sample(std::uint64_t operations, std::uintmax_t output, Clock::time_point now);

    std::chrono::milliseconds value() const;

  private:
    struct Change {
        std::uint64_t operations = 0;
        std::uintmax_t output = 0;
        Clock::time_point last_seen;  ///< with these numbers
        Clock::time_point first_seen;
    };

    std::chrono::milliseconds shortest_;
    std::optional<Change> last_;
    std::chrono::milliseconds longest_quiet_{0};
};

}  // namespace dtrain::worker
