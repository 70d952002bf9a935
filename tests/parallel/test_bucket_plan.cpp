// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: worked out by hand.
#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "parallel/bucket_plan.hpp"
#include "parallel/bucket_size.hpp"

namespace dtrain::parallel {
namespace {

using std::chrono::nanoseconds;
using testing::ElementsAre;

TEST(BucketPlan, TheLastParameterIsTheFirstToBeExchanged) {
    const std::array<std::size_t, 4> sizes{100, 10, 20, 30};
    EXPECT_THAT(plan_buckets(sizes, 200),
                ElementsAre(BucketPlan{{3, 2}, 0, 50}, BucketPlan{{1, 0}, 50, 160}));
    EXPECT_THAT(plan_buckets(sizes, 1 << 20), ElementsAre(BucketPlan{{3, 2, 1, 0}, 0, 160}));
    EXPECT_EQ(plan_buckets(sizes, 1).size(), 4U);
}

TEST(BucketPlan, NoParameterIsLeftOut) {
    const std::array<std::size_t, 3> sizes{0, 5, 0};
    EXPECT_THAT(plan_buckets(sizes, 4), ElementsAre(BucketPlan{{2, 1}, 0, 5}, BucketPlan{{0}, 5, 5}));
}

TEST(BucketSize, TheSmallestThatIsNearlyAsFastAsTheBest) {
    const std::array<MeasuredSize, 4> measured{{{100, nanoseconds(100)},
                                                {400, nanoseconds(210)},
                                                {1600, nanoseconds(750)},
                                                {6400, nanoseconds(2900)}}};
    EXPECT_EQ(sufficient_size(measured), 400);
    EXPECT_EQ(sufficient_size(std::span(measured).first(1)), 100);
}

}  // namespace
}  // namespace dtrain::parallel
