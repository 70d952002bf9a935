// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: lines written by hand.
#include <gtest/gtest.h>

#include "native/progress.hpp"

namespace dtrain::native {
namespace {

using namespace std::chrono_literals;

TEST(Progress, IsALineAMinuteWhereNoTerminalIs) {
    const auto begin = ProgressLine::Clock::now();
    testing::internal::CaptureStdout();
    const Console console("p", true);
    ProgressLine line(console, true, begin);
    EXPECT_FALSE(line.is_due(begin + 59s));
    EXPECT_TRUE(line.is_due(begin + 60s));
    line.show({.step = 1, .steps = 2, .loss = 1, .left = 61s}, begin + 61s);
    EXPECT_FALSE(line.is_due(begin + 120s));
    EXPECT_TRUE(line.is_due(begin + 121s));
    EXPECT_EQ(testing::internal::GetCapturedStdout(),
              "epoch 1/1 [=====>    ] 1/2  0 samples/s  loss 1.0000  1:01 left\n");
}

TEST(Progress, IsNeverDueWhereNobodyTalksOrWantsIt) {
    const auto begin = ProgressLine::Clock::now();
    EXPECT_FALSE(ProgressLine(Console("p", true), false, begin).is_due(begin + 1000h));
    EXPECT_FALSE(ProgressLine(Console("p", false), true, begin).is_due(begin + 1000h));
}

}  // namespace
}  // namespace dtrain::native
