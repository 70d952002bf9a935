// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: lines written by hand.
#include <gtest/gtest.h>

#include "worker/native/progress.hpp"

namespace dtrain::native {
namespace {

using namespace std::chrono_literals;

TEST(Progress, IsALine) {
    Progress progress{.epoch = 1,
                      .epochs = 2,
                      .step = 43,
                      .steps = 157,
                      .samples_per_second = 12345.4,
                      .loss = 0.51234,
                      .left = 12s};
    EXPECT_EQ(progress_text(progress, 200),
              "epoch 1/2 [==>       ] 43/157  12345 samples/s  loss 0.5123  0:12 left");
    EXPECT_EQ(progress_text(progress, 20), "epoch 1/2 [==>      ");
    EXPECT_EQ(progress_text(progress, 0), "");
    progress.loss.reset();
    progress.left = 26h + 3min + 4s;
    EXPECT_EQ(progress_text(progress, 200), "epoch 1/2 [==>       ] 43/157  12345 samples/s  26:03:04 left");
}

TEST(Progress, TheBarIsFullAtTheEnd) {
    const auto bar = [](std::int64_t step, std::int64_t steps) {
        const auto text = progress_text({.step = step, .steps = steps}, 200);
        return text.substr(10, 12);
    };
    EXPECT_EQ(bar(0, 100), "[>         ]");
    EXPECT_EQ(bar(99, 100), "[=========>]");
    EXPECT_EQ(bar(100, 100), "[==========]");
    EXPECT_EQ(bar(0, 0), "[>         ]");
}

TEST(Progress, TheTimeLeftIsThatOfTheStepsSoFar) {
    EXPECT_EQ(time_left(10s, 5, 20), 40s);
    EXPECT_EQ(time_left(10s, 3, 0), 0s);
    EXPECT_EQ(time_left(10s, 0, 20), 0s);
    EXPECT_GT(time_left(1s, 1, INT64_MAX), 24h * 365);
}

TEST(Progress, IsALineAMinuteWhereNoTerminalIs) {
    const auto begin = ProgressLine::Clock::now();
    testing::internal::CaptureStdout();
    const Console console("p", true);
    ProgressLine line(console, true, begin);
    EXPECT_FALSE(line.is_due(begin + 59s));
    EXPECT_TRUE(line.is_due(begin + 60s));
    line.show({.step = 1, .steps = 2, .loss = 1}, begin + 61s);
    EXPECT_FALSE(line.is_due(begin + 120s));
    EXPECT_TRUE(line.is_due(begin + 121s));
    EXPECT_EQ(testing::internal::GetCapturedStdout(),
              "epoch 1/1 [=====>    ] 1/2  0 samples/s  loss 1.0000  0:00 left\n");
}

TEST(Progress, IsNeverDueWhereNobodyTalksOrWantsIt) {
    const auto begin = ProgressLine::Clock::now();
    EXPECT_FALSE(ProgressLine(Console("p", true), false, begin).is_due(begin + 1000h));
    EXPECT_FALSE(ProgressLine(Console("p", false), true, begin).is_due(begin + 1000h));
}

}  // namespace
}  // namespace dtrain::native
