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

using enum DataType;

template <std::size_t size>
std::array<ArraySize, size> floats(const std::array<std::size_t, size>& counts) {
    std::array<ArraySize, size> sizes;
    for (std::size_t i = 0; i < size; ++i) sizes[i] = {float32, counts[i]};
    return sizes;
}

TEST(BucketPlan, TheLastParameterIsTheFirstToBeExchanged) {
    const auto sizes = floats<4>({100, 10, 20, 30});
    EXPECT_THAT(plan_buckets(sizes, 200), ElementsAre(BucketPlan{float32, {3, 2}, 0, 200},
                                                      BucketPlan{float32, {1, 0}, 256, 256 + 440}));
    EXPECT_THAT(plan_buckets(sizes, 1 << 20), ElementsAre(BucketPlan{float32, {3, 2, 1, 0}, 0, 640}));
    EXPECT_EQ(plan_buckets(sizes, 1).size(), 4U);
}

TEST(BucketPlan, NoParameterIsLeftOut) {
    EXPECT_THAT(plan_buckets(floats<3>({0, 5, 0}), 4),
                ElementsAre(BucketPlan{float32, {2, 1}, 0, 20}, BucketPlan{float32, {0}, 64, 64}));
}

TEST(BucketPlan, ABucketHasOneTypeAndTheFirstToBeCompleteIsFirst) {
    // Weights of 100 bfloat16, each followed by a scale of 2 floats, which fill their bucket slowly.
    const std::array<ArraySize, 6> sizes{
        {{bfloat16, 100}, {float32, 2}, {bfloat16, 100}, {float32, 2}, {bfloat16, 100}, {float32, 2}}};
    EXPECT_THAT(plan_buckets(sizes, 200),
                ElementsAre(BucketPlan{bfloat16, {4}, 0, 200}, BucketPlan{bfloat16, {2}, 256, 456},
                            BucketPlan{float32, {5, 3, 1}, 512, 536}, BucketPlan{bfloat16, {0}, 576, 776}));
    EXPECT_THAT(plan_buckets(sizes, 1 << 20),
                ElementsAre(BucketPlan{float32, {5, 3, 1}, 0, 24}, BucketPlan{bfloat16, {4, 2, 0}, 64, 664}));
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
