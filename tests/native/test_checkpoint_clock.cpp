// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: times of which the test says what they are.
#include <gtest/gtest.h>

#include "native/checkpoint_clock.hpp"

namespace dtrain::native {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr CheckpointClock::Clock::time_point begin{seconds(1000)};

TEST(CheckpointClock, CountsFromTheLastCheckpoint) {
    CheckpointClock clock(minutes(2), begin);
    EXPECT_TRUE(clock.is_on());
    EXPECT_FALSE(clock.is_due(begin));
    EXPECT_FALSE(clock.is_due(begin + seconds(119)));
    EXPECT_TRUE(clock.is_due(begin + seconds(120)));
    EXPECT_TRUE(clock.is_due(begin + seconds(500)));
    clock.note_checkpoint(begin + seconds(130));
    EXPECT_FALSE(clock.is_due(begin + seconds(249)));
    EXPECT_TRUE(clock.is_due(begin + seconds(250)));
}

TEST(CheckpointClock, IsNeverDueWhereNobodyAsked) {
    const CheckpointClock clock(std::nullopt, begin);
    EXPECT_FALSE(clock.is_on());
    EXPECT_FALSE(clock.is_due(begin + minutes(100'000)));
}

}  // namespace
}  // namespace dtrain::native
