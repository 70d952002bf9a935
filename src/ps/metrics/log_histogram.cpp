// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/metrics/log_histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>

namespace dtrain::ps {

std::size_t LogHistogram::bucket_of(std::uint64_t time) {
    const auto width = static_cast<unsigned>(std::bit_width(time));
    if (width <= bits + 1) return time;  // one bucket per value
    const auto shift = width - bits - 1;
    return (std::size_t{shift} << bits) + (time >> shift);
}

LogHistogram::Time LogHistogram::middle_of(std::size_t bucket) {
    constexpr std::size_t own = std::size_t{2} << bits;  // number of values with their own bucket
    if (bucket < own) return Time(bucket);
    const auto shift = (bucket >> bits) - 1;
    const auto first = static_cast<std::uint64_t>((bucket & ((1U << bits) - 1)) + (1U << bits)) << shift;
    return Time(first + (std::uint64_t{1} << shift) / 2);
}

void LogHistogram::add(Time time) {
    time = std::max(time, Time::zero());
    ++counts_[bucket_of(static_cast<std::uint64_t>(time.count()))];
    ++count_;
    total_ += time;
}

LogHistogram& LogHistogram::operator+=(const LogHistogram& other) {
    std::ranges::transform(counts_, other.counts_, counts_.begin(), std::plus{});
    count_ += other.count_;
    total_ += other.total_;
    return *this;
}

std::uint64_t LogHistogram::shorter_than(Time bound) const {
    const auto first = bucket_of(static_cast<std::uint64_t>(bound.count()));
    return std::accumulate(counts_.begin(), counts_.begin() + static_cast<std::ptrdiff_t>(first),
                           std::uint64_t{0});
}

LogHistogram::Time LogHistogram::quantile(double fraction) const {
    if (count_ == 0) return Time::zero();
    const auto wanted = std::max(1.0, std::ceil(fraction * static_cast<double>(count_)));
    std::uint64_t seen = 0;
    for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
        seen += counts_[bucket];
        if (static_cast<double>(seen) >= wanted) return middle_of(bucket);
    }
    return middle_of(buckets - 1);
}

}  // namespace dtrain::ps
