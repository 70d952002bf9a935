// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: counts kept in a std::map beside the counters, which never count less.
#include <map>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/table/admission.hpp"
#include "ps/table/id_hash.hpp"

namespace dtrain::ps {
namespace {

TEST(TouchCounters, CountOneIdExactlyUpToTheirEnd) {
    TouchCounters counters(64);
    for (unsigned touch = 1; touch <= 255; ++touch) EXPECT_EQ(counters.touch(slot_hash(5)), touch);
    EXPECT_EQ(counters.touch(slot_hash(5)), 255U);
}

TEST(TouchCounters, NeverCountTooLittleAndSeldomTooMuch) {
    TouchCounters counters(std::size_t{1} << 16U);
    std::map<std::int64_t, unsigned> expected;
    std::mt19937_64 dice(1);
    int too_much = 0;
    constexpr int touches = 20000;
    for (int i = 0; i < touches; ++i) {
        const auto id = static_cast<std::int64_t>(dice() % 8000);
        const auto count = counters.touch(slot_hash(id));
        ASSERT_GE(count, ++expected[id]);
        too_much += count > expected[id] ? 1 : 0;
    }
    EXPECT_LT(too_much, touches / 20);
}

TEST(TouchCounters, CountTooMuchWhenTheyAreFull) {
    TouchCounters counters(64);
    for (std::int64_t id = 0; id < 1000; ++id) counters.touch(slot_hash(id));
    EXPECT_GT(counters.touch(slot_hash(1000)), 1U);
}

TEST(TouchCounters, ForgetHalfWhenHalved) {
    TouchCounters counters(128);
    for (int touch = 0; touch < 9; ++touch) counters.touch(slot_hash(-1));
    counters.halve();
    EXPECT_EQ(counters.touch(slot_hash(-1)), 5U);
}

TEST(TouchCounters, ForgetATrial) {
    TouchCounters counters(64);
    std::mt19937_64 dice(1);
    for (int i = 0; i < 40; ++i) counters.touch(dice());
    const std::vector<std::uint8_t> before(counters.cells().begin(), counters.cells().end());
    {
        TouchCounters::Trial trial(counters);
        for (int i = 0; i < 40; ++i) trial.touch(dice());
        EXPECT_THAT(counters.cells(), testing::Not(testing::ElementsAreArray(before)));
    }
    EXPECT_THAT(counters.cells(), testing::ElementsAreArray(before));
}

TEST(IsChosen, ChoosesTheFractionThatItIsTold) {
    int chosen = 0;
    for (std::int64_t id = 0; id < 10000; ++id) chosen += is_chosen(slot_hash(id), 0.3) ? 1 : 0;
    EXPECT_NEAR(chosen, 3000, 5 * 46);
    EXPECT_FALSE(is_chosen(0, 0));
    EXPECT_TRUE(is_chosen(UINT64_MAX, 1));
}

}  // namespace
}  // namespace dtrain::ps
