// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: one trainer has the turn; the others get it in the order in which they asked.
#include <gtest/gtest.h>

#include "ps/server/report_turn.hpp"

namespace dtrain::ps {
namespace {

std::uint64_t request_of(const std::optional<ReportTurn::Waiting>& next) {
    return next ? next->request : 0;
}

TEST(ReportTurn, IsOfOneTrainerAfterTheOther) {
    ReportTurn turn;
    EXPECT_TRUE(turn.take({2, 20}));
    EXPECT_FALSE(turn.take({1, 10}));
    EXPECT_TRUE(turn.take({2, 21})) << "has it already";
    EXPECT_FALSE(turn.take({3, 30}));
    EXPECT_EQ(request_of(turn.give_back(3)), 0U) << "has it not";
    EXPECT_EQ(request_of(turn.give_back(2)), 10U);
    EXPECT_FALSE(turn.take({2, 22}));
    EXPECT_EQ(request_of(turn.give_back(1)), 30U);
    EXPECT_EQ(request_of(turn.give_back(3)), 22U);
    EXPECT_EQ(request_of(turn.give_back(2)), 0U);
    EXPECT_TRUE(turn.take({1, 11}));
}

TEST(ReportTurn, IsNoLongerOfWhoLeaves) {
    ReportTurn turn;
    EXPECT_TRUE(turn.take({0, 1}));
    EXPECT_FALSE(turn.take({1, 2}));
    EXPECT_FALSE(turn.take({2, 3}));
    EXPECT_EQ(request_of(turn.leave(1)), 0U);
    EXPECT_EQ(request_of(turn.leave(0)), 3U);
    EXPECT_EQ(request_of(turn.leave(2)), 0U);
    EXPECT_TRUE(turn.take({3, 4}));
}

TEST(ReportTurn, HandsOutAllThatWait) {
    ReportTurn turn;
    turn.take({0, 1});
    turn.take({1, 2});
    turn.take({2, 3});
    const auto waiting = turn.take_waiting();
    ASSERT_EQ(waiting.size(), 2U);
    EXPECT_EQ(waiting[0].trainer, 1U);
    EXPECT_EQ(waiting[1].request, 3U);
    EXPECT_TRUE(turn.take_waiting().empty());
}

}  // namespace
}  // namespace dtrain::ps
