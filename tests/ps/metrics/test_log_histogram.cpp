// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the sorted list of all times, and the error that the header promises.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "ps/metrics/log_histogram.hpp"

namespace dtrain::ps {
namespace {

using std::chrono::nanoseconds;

TEST(LogHistogram, HasNothingAtFirst) {
    const LogHistogram times;
    EXPECT_EQ(times.count(), 0U);
    EXPECT_EQ(times.quantile(0.5), nanoseconds(0));
}

TEST(LogHistogram, KnowsSmallTimesExactly) {
    LogHistogram times;
    for (const int time : {-5, 0, 3, 15, 15}) times.add(nanoseconds(time));
    EXPECT_EQ(times.count(), 5U);
    EXPECT_EQ(times.total(), nanoseconds(33));
    EXPECT_EQ(times.quantile(0), nanoseconds(0));
    EXPECT_EQ(times.quantile(0.4), nanoseconds(0));
    EXPECT_EQ(times.quantile(0.41), nanoseconds(3));
    EXPECT_EQ(times.quantile(0.61), nanoseconds(15));
    EXPECT_EQ(times.quantile(1), nanoseconds(15));
}

TEST(LogHistogram, IsOffByASixteenthAtMost) {
    std::vector<std::int64_t> values{INT64_MAX, INT64_MAX / 2 + 1, 16, 17};
    for (int bits = 0; bits < 62; ++bits)
        for (const int offset : {-1, 0, 1})
            values.push_back(std::max<std::int64_t>((std::int64_t{1} << bits) + offset, 0));
    for (const auto value : values) {
        LogHistogram times;
        times.add(nanoseconds(value));
        const auto median = static_cast<double>(times.quantile(0.5).count());
        EXPECT_LE(std::abs(median - static_cast<double>(value)), static_cast<double>(value) / 16) << value;
    }
}

TEST(LogHistogram, HasTheQuantilesOfTheSortedList) {
    std::mt19937_64 random(7);
    std::lognormal_distribution<double> lengths(10, 2);
    LogHistogram times;
    std::vector<double> sorted;
    for (int i = 0; i < 20'000; ++i) {
        const auto time = static_cast<std::int64_t>(lengths(random));
        times.add(nanoseconds(time));
        sorted.push_back(static_cast<double>(time));
    }
    std::ranges::sort(sorted);
    for (const double fraction : {0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
        const auto exact = sorted[static_cast<std::size_t>(std::ceil(fraction * 20'000)) - 1];
        EXPECT_NEAR(static_cast<double>(times.quantile(fraction).count()), exact, exact / 16) << fraction;
    }
}

TEST(LogHistogram, CountsWhatIsShorter) {
    LogHistogram some, others;
    for (const int time : {0, 1, 1023, 1024}) some.add(nanoseconds(time));
    for (const int time : {1025, 2047, 2048}) others.add(nanoseconds(time));
    others += some;
    EXPECT_EQ(others.count(), 7U);
    EXPECT_EQ(others.total(), nanoseconds(7168));
    EXPECT_EQ(others.shorter_than(nanoseconds(1)), 1U);
    EXPECT_EQ(others.shorter_than(nanoseconds(2)), 2U);
    EXPECT_EQ(others.shorter_than(nanoseconds(1024)), 3U);
    EXPECT_EQ(others.shorter_than(nanoseconds(2048)), 6U);
    EXPECT_EQ(others.shorter_than(nanoseconds(std::int64_t{1} << 62)), 7U);
    EXPECT_EQ(some.shorter_than(nanoseconds(2048)), 4U) << "stays as it was";
}

}  // namespace
}  // namespace dtrain::ps
