// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the rule of the header, on clocks and operations that the test makes up.
#include <gtest/gtest.h>

#include "worker/learned_limit.hpp"

namespace dtrain::worker {
namespace {

using namespace std::chrono_literals;

/// Looks once a second; the shortest limit is 60 s.
class LearnedLimitTest : public testing::Test {
  protected:
    void pass(int seconds, std::uint64_t operations_each) {
        for (int second = 0; second < seconds; ++second) {
            operations_ += operations_each;
            limit_.sample(operations_, output_, now_ += 1s);
        }
    }

    std::uint64_t operations_ = 0;
    std::uintmax_t output_ = 0;
    LearnedLimit::Clock::time_point now_{1000s};
    LearnedLimit limit_{60s};
};

TEST_F(LearnedLimitTest, NothingIsKnownAtFirst) {
    EXPECT_EQ(limit_.value(), 600s);
    pass(99, 1);
    EXPECT_EQ(limit_.value(), 600s) << "99 operations";
    pass(1, 1);
    EXPECT_EQ(limit_.value(), 60s);
}

TEST_F(LearnedLimitTest, IsTenTimesTheLongestQuietTime) {
    pass(100, 1);
    pass(20, 0);
    EXPECT_EQ(limit_.value(), 60s) << "it may hang by now";
    pass(1, 1);
    EXPECT_EQ(limit_.value(), 200s);
    pass(10, 0);
    pass(100, 1);
    EXPECT_EQ(limit_.value(), 200s);
}

TEST_F(LearnedLimitTest, OutputEndsAQuietTime) {
    pass(100, 1);
    for (int times = 0; times < 10; ++times) {
        pass(6, 0);
        ++output_;
    }
    pass(1, 1);
    EXPECT_EQ(limit_.value(), 60s) << "six seconds each";
}

TEST_F(LearnedLimitTest, TheTimeBeforeTheFirstOperationDoesNotCount) {
    pass(1000, 0);
    pass(100, 1);
    EXPECT_EQ(limit_.value(), 60s);
}

TEST_F(LearnedLimitTest, NeitherDoesTheTimeAfterTheStart) {
    pass(1, 1);
    pass(1000, 0);
    pass(100, 1);
    EXPECT_EQ(limit_.value(), 60s) << "data were loaded";
}

TEST_F(LearnedLimitTest, LongTimesCountTwice) {
    pass(100, 1);
    pass(100, 0);
    pass(1, 1);
    EXPECT_EQ(limit_.value(), 600s) << "not 1000";
    pass(1000, 0);
    pass(1, 1);
    EXPECT_EQ(limit_.value(), 2000s);
}

}  // namespace
}  // namespace dtrain::worker
