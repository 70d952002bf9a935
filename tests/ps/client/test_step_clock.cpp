// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: steps counted by hand.
#include <gtest/gtest.h>

#include "ps/client/step_clock.hpp"

namespace dtrain::ps {
namespace {

TEST(StepClocks, CountStepsThatAreSentAtOnce) {
    StepClock clock(ServerMode::sync, 1, 2);
    clock.start_at(7);
    clock.end_sent_step();
    EXPECT_EQ(clock.steps(), 8);
    EXPECT_EQ(clock.sent_steps(), 8);
    EXPECT_TRUE(clock.sends_this_step());
}

TEST(StepClocks, CountMergedSteps) {
    StepClock clock(ServerMode::async, 3, 1);
    for (int step = 1; step <= 3; ++step) {
        EXPECT_FALSE(clock.must_send()) << step;
        clock.end_merged_step();
    }
    EXPECT_TRUE(clock.must_send());
    EXPECT_EQ(clock.steps(), 3);
    EXPECT_EQ(clock.sent_steps(), 0);
    EXPECT_EQ(clock.unsent_steps(), 3);
    EXPECT_EQ(clock.send_merged_steps(), 3U);
    EXPECT_EQ(clock.sent_steps(), 3);
    EXPECT_EQ(clock.unsent_steps(), 0);
    EXPECT_FALSE(clock.must_send());
}

// Before the fifth step begins, of four steps fewer than max_merged may be missing.
TEST(StepClocks, KnowWhichStepsTheParametersMustContain) {
    for (const int max_merged : {1, 2, 4}) {
        StepClock clock(ServerMode::async, max_merged, 1);
        for (int step = 0; step < 4; ++step) clock.end_merged_step();
        EXPECT_EQ(clock.min_known_steps(), 4 - (max_merged - 1));
        EXPECT_EQ(clock.knows_each_step(), max_merged == 1);
    }
}

TEST(StepClocks, KnowWhichServersHaveAppliedAPush) {
    StepClock clock(ServerMode::async, 3, 2);
    EXPECT_TRUE(clock.are_all_applied());
    clock.note_pushed(0);
    clock.note_pushed(1);
    clock.note_applied(0);
    EXPECT_TRUE(clock.is_applied(0));
    EXPECT_FALSE(clock.is_applied(1));
    EXPECT_FALSE(clock.are_all_applied());
    EXPECT_FALSE(clock.sends_this_step());
    clock.note_applied(1);
    EXPECT_TRUE(clock.are_all_applied());
    EXPECT_TRUE(clock.sends_this_step());
    clock.end_merged_step();
    EXPECT_FALSE(clock.sends_this_step()) << "it goes with the one before";
}

TEST(StepClocks, KnowWhatTheModesDo) {
    struct Expected {
        ServerMode mode;
        bool merges, counts_others, waits;
    };
    for (const auto& [mode, merges, counts_others, waits] :
         {Expected{ServerMode::sync, false, true, true}, Expected{ServerMode::async, true, false, false},
          Expected{ServerMode::half_async, false, true, false},
          Expected{ServerMode::geo, false, false, false}}) {
        StepClock clock(mode, 1, 1);
        EXPECT_EQ(clock.merges_steps(), merges) << to_string(mode);
        EXPECT_EQ(clock.counts_steps_of_others(), counts_others) << to_string(mode);
        EXPECT_EQ(clock.waits_for_all(), waits) << to_string(mode);
        EXPECT_EQ(clock.has_acknowledgements(), !waits) << to_string(mode);
        clock.note_pushed(0);
        EXPECT_EQ(clock.sends_this_step(), !merges) << to_string(mode);
    }
}

}  // namespace
}  // namespace dtrain::ps
