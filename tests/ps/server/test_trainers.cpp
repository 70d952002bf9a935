// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: a trainer joins once, is here until it leaves, and is lost 3 s after it has ended without leaving.
#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/server/trainers.hpp"
#include "support/message_of.hpp"

namespace dtrain::ps {
namespace {

using testing::ElementsAre;
using tests::message_of;
using namespace std::chrono_literals;

TEST(Trainers, AreNumberedByTheirRanks) {
    const Trainers trainers({4, 2, 7});
    EXPECT_EQ(trainers.count(), 3U);
    EXPECT_EQ(trainers.number_of(2), 1U);
    EXPECT_EQ(trainers.rank(2), 7);
    EXPECT_EQ(trainers.name(0), "trainer 0 (rank 4)");
    EXPECT_EQ(message_of<MessageError>([&] { trainers.number_of(3); }), "rank 3 is no trainer of this job");
}

TEST(Trainers, JoinAndLeaveOnce) {
    Trainers trainers({1, 2});
    const auto refusal = [&] {
        return message_of<MessageError>([&] { trainers.check_joined(0, MessageKind::pull); });
    };
    EXPECT_EQ(refusal(), "a 'pull' of trainer 0, which has not joined");
    trainers.check_may_join(0);
    trainers.join(0);
    EXPECT_EQ(refusal(), "");
    EXPECT_EQ(message_of<MessageError>([&] { trainers.check_may_join(0); }), "a second 'join' of trainer 0");
    trainers.leave(0);
    EXPECT_EQ(refusal(), "a 'pull' of trainer 0, which has left");
    EXPECT_EQ(message_of<MessageError>([&] { trainers.check_may_join(0); }), "a second 'join' of trainer 0");
    EXPECT_FALSE(trainers.have_all_left());
    trainers.join(1);
    EXPECT_FALSE(trainers.have_all_left());
    trainers.leave(1);
    EXPECT_TRUE(trainers.have_all_left());
}

TEST(Trainers, AreLostAMomentAfterTheyHaveEnded) {
    Trainers trainers({1, 2});
    const Trainers::Time begin{};
    const auto lost_at = [&](Trainers::Time now) {
        return message_of<Error>([&] { trainers.check_none_is_lost(now); });
    };
    EXPECT_EQ(lost_at(begin + 24h), "");
    trainers.join(0);
    trainers.join(1);
    trainers.note_abandoned(1, begin);
    trainers.note_abandoned(0, begin + 1s);  // the first one is named
    EXPECT_EQ(lost_at(begin + 2999ms), "");
    EXPECT_EQ(lost_at(begin + 3s), "trainer 1 (rank 2) has ended without leave(): it failed, or forgot it");
}

TEST(Trainers, ThatHaveLeftMayEnd) {
    Trainers trainers({1});
    trainers.join(0);
    trainers.leave(0);
    trainers.note_abandoned(0, {});
    trainers.check_none_is_lost(Trainers::Time(24h));
}

TEST(Trainers, AreReachableBetweenJoiningAndEnding) {
    Trainers trainers({1, 2, 3, 4});
    EXPECT_THAT(trainers.reachable(), ElementsAre());
    for (const std::size_t trainer : {0U, 1U, 2U}) trainers.join(trainer);
    trainers.leave(0);
    trainers.note_abandoned(2, {});
    EXPECT_THAT(trainers.reachable(), ElementsAre(1));
}

}  // namespace
}  // namespace dtrain::ps
