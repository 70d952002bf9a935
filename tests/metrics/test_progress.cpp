// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: lines written by hand.
#include <gtest/gtest.h>

#include "metrics/progress.hpp"

namespace dtrain::metrics {
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
    progress.left.reset();
    EXPECT_EQ(progress_text(progress, 200), "epoch 1/2 [==>       ] 43/157  12345 samples/s");
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
    EXPECT_EQ(time_left(10s, 0, 20), std::nullopt);
    EXPECT_EQ(time_left(10s, 1, 20), std::nullopt);
    EXPECT_EQ(time_left(10s, 2, 20), 100s);
    EXPECT_GT(time_left(1s, 2, INT64_MAX), 24h * 365);
}

}  // namespace
}  // namespace dtrain::metrics
