// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the modes as the page on servers has them: sync waits for common steps, half_async for trainers
// that are more than `staleness` steps behind, async and geo for nobody.
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/server/trainer_steps.hpp"

namespace dtrain::ps {
namespace {

using testing::ElementsAre;

MessageHeader pull_of(std::int64_t step) {
    return {.kind = MessageKind::pull, .step = step};
}

TEST(TrainerSteps, SyncWaitsForUpdates) {
    TrainerSteps steps(ServerMode::sync, 0, 2, 5);
    EXPECT_EQ(steps.updates(), 5);
    EXPECT_TRUE(steps.is_due(pull_of(5)));
    for (const std::size_t trainer : {0U, 1U}) steps.end(trainer, 1);
    EXPECT_FALSE(steps.is_due(pull_of(6)));
    steps.note_update();
    EXPECT_TRUE(steps.is_due(pull_of(6)));
    EXPECT_FALSE(steps.is_due(pull_of(7)));
    EXPECT_FALSE(steps.is_due({.kind = MessageKind::save, .step = 7}));
    EXPECT_FALSE(steps.is_due({.kind = MessageKind::day, .step = 7}));
}

TEST(TrainerSteps, AsyncAndGeoWaitForNothing) {
    for (const auto mode : {ServerMode::async, ServerMode::geo}) {
        const TrainerSteps steps(mode, 0, 2, 0);
        EXPECT_TRUE(steps.is_due(pull_of(std::numeric_limits<std::int64_t>::max())));
    }
}

TEST(TrainerSteps, HalfAsyncWaitsForTrainersThatAreTooFarBehind) {
    TrainerSteps steps(ServerMode::half_async, 2, 3, 100);  // steps of trainers begin with 0
    EXPECT_TRUE(steps.is_due(pull_of(2)));
    EXPECT_FALSE(steps.is_due(pull_of(3)));
    EXPECT_TRUE(steps.is_due({.kind = MessageKind::save, .step = 3}));
    EXPECT_FALSE(steps.is_due({.kind = MessageKind::day, .step = 3}));
    steps.end(0, 5);  // one push may end several steps
    steps.end(1, 1);
    EXPECT_FALSE(steps.is_due(pull_of(3)));
    steps.leave(2);
    EXPECT_TRUE(steps.is_due(pull_of(3)));
    EXPECT_FALSE(steps.is_due(pull_of(4)));
    steps.end(1, 1);
    EXPECT_TRUE(steps.is_due(pull_of(4)));
}

TEST(TrainerSteps, AnyNumberOfAStepIsAllowed) {
    for (const auto mode : {ServerMode::sync, ServerMode::half_async})
        EXPECT_TRUE(TrainerSteps(mode, 2, 2, 0).is_due(pull_of(std::numeric_limits<std::int64_t>::min())));
}

TEST(TrainerSteps, WhoIsBehindTheFurthestIsLate) {
    TrainerSteps steps(ServerMode::half_async, 0, 4, 0);
    EXPECT_THAT(steps.late_trainers(), ElementsAre());
    steps.end(1, 2);
    steps.end(2, 1);
    EXPECT_THAT(steps.late_trainers(), ElementsAre(0, 2, 3));
    steps.end(2, 1);
    steps.leave(3);
    EXPECT_THAT(steps.late_trainers(), ElementsAre(0));
}

}  // namespace
}  // namespace dtrain::ps
