// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: by hand.
#include <thread>

#include <gtest/gtest.h>

#include "comm/node/backoff.hpp"

namespace dtrain::comm {
namespace {

using namespace std::chrono_literals;

TEST(Backoff, EndsToSpinWhereAMomentTakesLong) {
    Backoff backoff(false);
    int moments = 0;
    for (; moments < 1000 && backoff.pass_moment(); ++moments) std::this_thread::sleep_for(100us);
    EXPECT_LT(moments, 1000);
    EXPECT_GT(backoff.waited(), 0s);
}

TEST(Backoff, StartsOver) {
    Backoff backoff(true, 0us);
    while (backoff.pass_moment()) std::this_thread::sleep_for(100us);
    EXPECT_GT(backoff.waited(), 0s);
    backoff.renew();
    EXPECT_EQ(backoff.waited(), 0s);
    EXPECT_TRUE(backoff.pass_moment());
}

}  // namespace
}  // namespace dtrain::comm
