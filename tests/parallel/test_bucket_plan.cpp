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

/// The last array is the first to be complete, as gradients of the parameters of a forward pass are.
template <std::size_t size>
std::array<ExchangedArray, size> made_from_the_end(std::array<ExchangedArray, size> arrays) {
    for (std::size_t i = 0; i < size; ++i) arrays[i].made = size - i;
    return arrays;
}

template <std::size_t size>
std::array<ExchangedArray, size> floats(const std::array<std::size_t, size>& counts) {
    std::array<ExchangedArray, size> arrays;
    for (std::size_t i = 0; i < size; ++i) arrays[i] = {.element = float32, .count = counts[i]};
    return made_from_the_end(arrays);
}

TEST(BucketPlan, TheFirstToBeCompleteIsTheFirstToBeExchanged) {
    const auto arrays = floats<4>({100, 10, 20, 30});
    EXPECT_THAT(plan_buckets(arrays, 200), ElementsAre(BucketPlan{float32, {3, 2}, 0, 200},
                                                       BucketPlan{float32, {1, 0}, 256, 256 + 440}));
    EXPECT_THAT(plan_buckets(arrays, 1 << 20), ElementsAre(BucketPlan{float32, {3, 2, 1, 0}, 0, 640}));
    EXPECT_EQ(plan_buckets(arrays, 1).size(), 4U);
    EXPECT_EQ(plan_buckets(arrays, 0).size(), 4U);
    EXPECT_THAT(plan_buckets({}, 1), ElementsAre());
}

TEST(BucketPlan, NoArrayIsLeftOut) {
    EXPECT_THAT(plan_buckets(floats<3>({0, 5, 0}), 4),
                ElementsAre(BucketPlan{float32, {2, 1}, 0, 20}, BucketPlan{float32, {0}, 64, 64}));
}

TEST(BucketPlan, ABucketHasOneTypeAndTheFirstToBeCompleteIsFirst) {
    // Weights of 100 bfloat16, each followed by a scale of 2 floats, which fill their bucket slowly.
    const auto arrays = made_from_the_end<6>(
        {{{bfloat16, 100}, {float32, 2}, {bfloat16, 100}, {float32, 2}, {bfloat16, 100}, {float32, 2}}});
    EXPECT_THAT(plan_buckets(arrays, 200),
                ElementsAre(BucketPlan{bfloat16, {4}, 0, 200}, BucketPlan{bfloat16, {2}, 256, 456},
                            BucketPlan{float32, {5, 3, 1}, 512, 536}, BucketPlan{bfloat16, {0}, 576, 776}));
    EXPECT_THAT(plan_buckets(arrays, 1 << 20),
                ElementsAre(BucketPlan{float32, {5, 3, 1}, 0, 24}, BucketPlan{bfloat16, {4, 2, 0}, 64, 664}));
}

TEST(BucketPlan, WhatIsCompleteAtTheSameTimeKeepsItsOrder) {
    // As weight and bias of a layer, which one operator makes.
    const std::array<ExchangedArray, 4> arrays{{{.count = 10, .made = 7},
                                                {.count = 5, .made = 7},
                                                {.count = 20, .made = 3},
                                                {.count = 2, .made = 3}}};
    EXPECT_THAT(plan_buckets(arrays, 1 << 20), ElementsAre(BucketPlan{float32, {2, 3, 0, 1}, 0, 148}));
    EXPECT_THAT(plan_buckets(arrays, 0),
                ElementsAre(BucketPlan{float32, {2}, 0, 80}, BucketPlan{float32, {3}, 128, 136},
                            BucketPlan{float32, {0}, 192, 232}, BucketPlan{float32, {1}, 256, 276}));
}

TEST(BucketPlan, ABucketThatIsReadWaitsForNothingThatIsMadeLater) {
    // The first is read at 4, so the third cannot travel with it; what is read at 6 can wait for it.
    const std::array<ExchangedArray, 4> arrays{{{.count = 1, .made = 1, .read = 4},
                                                {.count = 1, .made = 2, .read = 9},
                                                {.count = 1, .made = 4, .read = 6},
                                                {.count = 1, .made = 5, .read = 9}}};
    EXPECT_THAT(plan_buckets(arrays, 1 << 20),
                ElementsAre(BucketPlan{float32, {0, 1}, 0, 8}, BucketPlan{float32, {2, 3}, 64, 72}));
}

TEST(BucketPlan, ReadersOfOneTypeDoNotCloseBucketsOfAnother) {
    const std::array<ExchangedArray, 3> arrays{{{.element = float16, .count = 4, .made = 1},
                                                {.element = float32, .count = 1, .made = 2, .read = 3},
                                                {.element = float16, .count = 4, .made = 4}}};
    EXPECT_THAT(plan_buckets(arrays, 1 << 20),
                ElementsAre(BucketPlan{float32, {1}, 0, 4}, BucketPlan{float16, {0, 2}, 64, 80}));
}

TEST(BucketSize, TheSmallestThatIsNearlyAsFastAsTheBest) {
    const std::array<MeasuredSize, 4> measured{{{100, nanoseconds(100)},
                                                {400, nanoseconds(210)},
                                                {1600, nanoseconds(750)},
                                                {6400, nanoseconds(2900)}}};
    EXPECT_EQ(sufficient_size(measured), 400);
    EXPECT_EQ(sufficient_size(std::span(measured).first(1)), 100);
}

TEST(BucketSize, IsMeasuredIn64KiBTo32MiB) {
    EXPECT_EQ(bytes_to_measure(1), std::size_t{64} << 10);
    EXPECT_EQ(bytes_to_measure(1 << 20), std::size_t{1} << 20);
    EXPECT_EQ(bytes_to_measure(std::size_t{1} << 40), std::size_t{32} << 20);
}

}  // namespace
}  // namespace dtrain::parallel
