// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace dtrain::ps {

/// How many times of which length there were: eight buckets for each power of two of nanoseconds, so that a
/// quantile is off by a sixteenth at most. A value of 4 KiB; adding is some nanoseconds.
class LogHistogram {
  public:
    using Time = std::chrono::nanoseconds;

    /// Times below zero count as zero.
    void add(Time time);

    std::uint64_t count() const { return count_; }
    Time total() const { return total_; }

    /// Those of another one, too.
    LogHistogram& operator+=(const LogHistogram& other);

    /// How many were shorter than a bound, which is a power of two of nanoseconds.
    std::uint64_t shorter_than(Time bound) const;

    /// The time that a share (0 to 1) of all do not exceed, but by its error; zero when there is none.
    Time quantile(double share) const;

    friend bool operator==(const LogHistogram&, const LogHistogram&) = default;

  private:
    static constexpr unsigned bits = 3;  // of a number that its bucket tells, besides the highest
    static constexpr std::size_t buckets = std::size_t{64 - bits} << bits;

    static std::size_t bucket_of(std::uint64_t time);
    static Time middle_of(std::size_t bucket);

    std::array<std::uint64_t, buckets> counts_{};
    std::uint64_t count_ = 0;
    Time total_{0};
};

}  // namespace dtrain::ps
