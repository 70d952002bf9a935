// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the definition of the header, on clocks and activities that the test makes up.
#include <gtest/gtest.h>

#include "worker/idleness.hpp"

namespace dtrain::worker {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

/// Looks once a second at a rank with a limit of 8 s.
class IdlenessTest : public testing::Test {
  protected:
    bool sample(Activity activity, milliseconds later = 1s) {
        now_ += later;
        idleness_.sample(activity, now_);
        return idleness_.idle();
    }
    /// The number of the sample, from 1, at which the rank first counts as idle; 0: not within a minute.
    int first_idle(Activity activity, Activity more_each_time) {
        for (int sample_number = 1; sample_number <= 60; ++sample_number) {
            if (sample(activity)) return sample_number;
            activity.cpu_time += more_each_time.cpu_time;
            activity.cpu_wait += more_each_time.cpu_wait;
            activity.output += more_each_time.output;
            activity.moved += more_each_time.moved;
        }
        return 0;
    }

    Idleness idleness_{{.time = 8s}};
    Idleness::Clock::time_point now_{1000s};
};

TEST_F(IdlenessTest, NothingForTheWholeTimeIsIdle) {
    EXPECT_EQ(idleness_.interval(), 1s);
    EXPECT_EQ(first_idle({}, {}), 9) << "at the first sample 8 s after the first of all";
    EXPECT_EQ(idleness_.idle_time(), 8s);
    sample({});
    EXPECT_EQ(idleness_.idle_time(), 9s);
}

TEST_F(IdlenessTest, WhatNoSampleHasShownIsActivity) {
    for (int second = 0; second < 9; ++second) sample({});
    ASSERT_TRUE(idleness_.idle());
    const auto at = now_ - 2500ms;
    EXPECT_EQ(idleness_.idle_since(), now_ - 8s);
    idleness_.note_progress(at);
    EXPECT_FALSE(idleness_.idle());
    EXPECT_EQ(first_idle({}, {}), 6) << "8 s after the first sample after that";
    EXPECT_EQ(idleness_.idle_since(), at + 500ms);
    idleness_.note_progress(now_ + 1ms);
    EXPECT_EQ(first_idle({}, {}), 9) << "as if it had just begun";
}

TEST_F(IdlenessTest, OutputIsActivity) {
    EXPECT_EQ(first_idle({}, {.output = 1}), 0);
}

TEST_F(IdlenessTest, TwoPercentOfACoreAreActivity) {
    EXPECT_EQ(first_idle({}, {.cpu_time = 20ms}), 0);
}

TEST_F(IdlenessTest, WhoReadsOrWritesAMebibyteASecondIsActive) {
    EXPECT_EQ(first_idle({}, {.moved = 1U << 20U}), 0) << "it may write a checkpoint";
}

TEST_F(IdlenessTest, WhoReadsOrWritesLessIsNot) {
    EXPECT_EQ(first_idle({}, {.moved = 1000}), 9);
}

TEST_F(IdlenessTest, WhoWaitsForACoreIsActive) {
    EXPECT_EQ(first_idle({}, {.cpu_wait = 300ms}), 0) << "the node has too much to do";
}

TEST_F(IdlenessTest, WhoWakesUpOnABusyNodeNowAndThenIsNot) {
    EXPECT_EQ(first_idle({}, {.cpu_wait = 200ms}), 9);
}

TEST_F(IdlenessTest, LessIsNot) {
    EXPECT_EQ(first_idle({.cpu_time = 1h}, {.cpu_time = 19ms}), 9);
}

TEST_F(IdlenessTest, RareTicksOfTheKernelsClockAreNot) {
    // 10 ms every other second are half a percent.
    int sample_number = 0;
    bool idle = false;
    for (milliseconds used{0}; sample_number < 9; ++sample_number)
        idle = sample({.cpu_time = used += 10ms * (sample_number % 2)});
    EXPECT_TRUE(idle);
}

TEST_F(IdlenessTest, OneLineStartsTheTimeAnew) {
    for (int times = 0; times < 5; ++times) EXPECT_FALSE(sample({}));
    for (int times = 0; times < 8; ++times) EXPECT_FALSE(sample({.output = 7})) << times;
    EXPECT_TRUE(sample({.output = 7}));
}

TEST_F(IdlenessTest, WhoIsIdleBecomesActiveAgain) {
    ASSERT_EQ(first_idle({}, {}), 9);
    EXPECT_FALSE(sample({.output = 1}));
    for (int times = 0; times < 7; ++times) EXPECT_FALSE(sample({.output = 1}));
    EXPECT_TRUE(sample({.output = 1}));
    EXPECT_EQ(idleness_.idle_time(), 8s);
    EXPECT_FALSE(sample({.cpu_time = 160ms, .output = 1}));
}

TEST_F(IdlenessTest, ASuspendedJobIsNotIdle) {
    for (int times = 0; times < 8; ++times) EXPECT_FALSE(sample({}));
    EXPECT_FALSE(sample({}, 1h));
    for (int times = 0; times < 7; ++times) EXPECT_FALSE(sample({}));
    EXPECT_TRUE(sample({}));
}

TEST_F(IdlenessTest, WhoWaitsInOneOperationIsIdleHoweverBusily) {
    Activity activity{.operations = 5, .records_operations = true};
    for (int second = 1; second <= 20; ++second) {
        activity.cpu_time = second * 1s;
        activity.waited = second * 1s;
        const bool idle = sample(activity);
        EXPECT_EQ(idle, second >= 9) << second;
        if (idle) {
            EXPECT_EQ(idleness_.kind(), cluster::Inactivity::waits);
        }
    }
    EXPECT_EQ(idleness_.idle_time(), 19s);
    ++activity.operations;
    activity.waited.reset();
    EXPECT_FALSE(sample(activity)) << "an operation has ended";
}

TEST_F(IdlenessTest, OperationsThatEndAreActivity) {
    Activity activity{.records_operations = true};
    for (int second = 1; second <= 60; ++second) {
        ++activity.operations;
        EXPECT_FALSE(sample(activity));
    }
}

TEST_F(IdlenessTest, WhoStartsIsIdleAfterTenTimesAsLong) {
    Activity activity{.records_operations = true};
    int first = 0;
    for (int second = 0; second <= 100 && first == 0; ++second) {
        activity.cpu_time = second * 1s;
        if (sample(activity)) first = second;
    }
    EXPECT_EQ(first, 80);
    EXPECT_EQ(idleness_.kind(), cluster::Inactivity::computes);
}

TEST_F(IdlenessTest, WhoComputesIsIdleAfterFourTimesAsLong) {
    Activity activity{.operations = 1, .records_operations = true};
    int first = 0;
    for (int second = 0; second <= 60 && first == 0; ++second) {
        activity.cpu_time = second * 1s;
        if (sample(activity)) first = second;
    }
    EXPECT_EQ(first, 32);
    EXPECT_EQ(idleness_.kind(), cluster::Inactivity::computes);
    EXPECT_EQ(idleness_.idle_time(), 32s);
}

TEST_F(IdlenessTest, WhoComputesWithoutRecordsIsActive) {
    EXPECT_EQ(first_idle({}, {.cpu_time = 1s}), 0) << "nobody knows what it does";
}

TEST_F(IdlenessTest, ALimitIsLearned) {
    Idleness learned({.time = 8s, .is_learned = true});
    const auto look = [&](Activity activity) {
        learned.sample(activity, now_ += 1s);
        return learned.idle();
    };
    Activity activity{.records_operations = true};
    for (int second = 0; second < 79; ++second) EXPECT_FALSE(look(activity)) << "80 s while nothing is known";
    for (activity.operations = 1; activity.operations < 200; ++activity.operations) look(activity);
    EXPECT_EQ(learned.limit(), 8s);
    for (int second = 0; second < 8; ++second) EXPECT_FALSE(look(activity)) << second;
    EXPECT_TRUE(look(activity));
    ++activity.operations;
    EXPECT_FALSE(look(activity)) << "it was no hang";
    EXPECT_EQ(learned.limit(), 80s) << "and is not taken for one again";
    for (int second = 0; second < 79; ++second) EXPECT_FALSE(look(activity)) << second;
    EXPECT_TRUE(look(activity));
}

TEST(IdlenessInterval, IsBounded) {
    EXPECT_EQ(Idleness({.time = 1ms}).interval(), 20ms);
    EXPECT_EQ(Idleness({.time = 24h}).interval(), 10s);
}

}  // namespace
}  // namespace dtrain::worker
