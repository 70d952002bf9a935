// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace dtrain::ps {

/// A histogram of durations with eight buckets per power of two of nanoseconds, so that a quantile is off by
/// at most a sixteenth. It takes 4 KiB; adding takes some nanoseconds.
class LogHistogram {
  public:
    using Time = std::chrono::nanoseconds;

    /// Negative durations count as zero.
    void add(Time time);

    std::uint64_t count() const { return count_; }
    Time total() const { return total_; }

    /// Adds the counts of another histogram.
    LogHistogram& operator+=(const LogHistogram& other);

    /// How many were shorter than `bound`, which must be a power of two of nanoseconds.
    std::uint64_t shorter_than(Time bound) const;

    /// The q-quantile for q = `fraction` (0 to 1), within the error above; zero if the histogram is empty.
    Time quantile(double fraction) const;

    friend bool operator==(const LogHistogram&, const LogHistogram&) = default;

  private:
    static constexpr unsigned bits = 3;  // bits of a value, after its highest one, that select its bucket
    static constexpr std::size_t buckets = std::size_t{64 - bits} << bits;

    static std::size_t bucket_of(std::uint64_t time);
    static Time middle_of(std::size_t bucket);

    std::array<std::uint64_t, buckets> counts_{};
    std::uint64_t count_ = 0;
    Time total_{0};
};

}  // namespace dtrain::ps
