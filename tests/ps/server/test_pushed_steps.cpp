// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: a step is handed out whole, when it has ended; a common step when all that are waited for have
// ended one. Pushes are told apart by the rank that stands in their messages.
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/server/pushed_steps.hpp"

namespace dtrain::ps {
namespace {

using testing::ElementsAre;

Push push_number(int number) {
    return {.message = {.from = number, .content = {}}, .parts = {}};
}

std::vector<int> numbers_of(const PushedSteps::Step& step) {
    std::vector<int> numbers;
    for (const auto& push : step) numbers.push_back(push.message.from);
    return numbers;
}

TEST(PushedSteps, AStepIsHandedOutWhole) {
    PushedSteps pushed(2);
    EXPECT_FALSE(pushed.is_within_step(0));
    pushed.add(0, push_number(1));
    pushed.add(1, push_number(2));
    pushed.add(0, push_number(3));
    EXPECT_TRUE(pushed.is_within_step(0));
    EXPECT_THAT(numbers_of(pushed.take_step(0)), ElementsAre(1, 3));
    EXPECT_FALSE(pushed.is_within_step(0));
    EXPECT_THAT(numbers_of(pushed.take_step(0)), ElementsAre());
    EXPECT_TRUE(pushed.is_within_step(1));
}

TEST(PushedSteps, ACommonStepIsTheOldestOfEach) {
    PushedSteps pushed(2);
    EXPECT_FALSE(pushed.has_common_step()) << "nobody has ended one";
    for (const int number : {1, 2}) {
        pushed.add(0, push_number(number));
        pushed.keep_step(0);
    }
    EXPECT_FALSE(pushed.has_common_step());
    pushed.add(1, push_number(10));
    EXPECT_FALSE(pushed.has_common_step());
    pushed.keep_step(1);
    ASSERT_TRUE(pushed.has_common_step());
    const auto first = pushed.take_common_step();
    EXPECT_THAT(numbers_of(first[0]), ElementsAre(1));
    EXPECT_THAT(numbers_of(first[1]), ElementsAre(10));
    EXPECT_FALSE(pushed.has_common_step());
    pushed.keep_step(1);  // without a push
    ASSERT_TRUE(pushed.has_common_step());
    const auto second = pushed.take_common_step();
    EXPECT_THAT(numbers_of(second[0]), ElementsAre(2));
    EXPECT_THAT(numbers_of(second[1]), ElementsAre());
    EXPECT_FALSE(pushed.has_common_step());
}

TEST(PushedSteps, OfWhoHasLeftTheEndedOnesCount) {
    PushedSteps pushed(2);
    pushed.add(0, push_number(1));
    pushed.keep_step(0);
    pushed.add(0, push_number(2));
    EXPECT_THAT(numbers_of(pushed.leave(0)), ElementsAre(2));
    EXPECT_FALSE(pushed.has_common_step());
    for (const int number : {10, 11}) {
        pushed.add(1, push_number(number));
        pushed.keep_step(1);
    }
    ASSERT_TRUE(pushed.has_common_step());
    EXPECT_THAT(numbers_of(pushed.take_common_step()[0]), ElementsAre(1));
    ASSERT_TRUE(pushed.has_common_step());
    const auto rest = pushed.take_common_step();
    EXPECT_THAT(numbers_of(rest[0]), ElementsAre());
    EXPECT_THAT(numbers_of(rest[1]), ElementsAre(11));
    pushed.leave(1);
    EXPECT_FALSE(pushed.has_common_step());
}

}  // namespace
}  // namespace dtrain::ps
