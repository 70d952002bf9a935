// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: timerfd_create(2); what the header promises. Times are only ever waited for, never measured.
#include <cstdint>
#include <poll.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "elastic/stop_timer.hpp"

namespace dtrain::elastic {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

bool readable(const StopTimer& timer, int wait_ms) {
    pollfd source{timer.fd(), POLLIN, 0};
    return ::poll(&source, 1, wait_ms) == 1;
}

std::uint64_t expirations(const StopTimer& timer) {
    std::uint64_t count = 0;
    return ::read(timer.fd(), &count, sizeof count) == sizeof count ? count : 0;
}

TEST(StopTimer, IsSilentUntilItIsTime) {
    const StopTimer timer;
    EXPECT_FALSE(readable(timer, 0));
    timer.stop_at(BootClock::now() + hours(1), milliseconds(1));
    EXPECT_FALSE(readable(timer, 20));
}

TEST(StopTimer, TellsToStopAndThenToBeGone) {
    const StopTimer timer;
    timer.stop_now(hours(1));
    ASSERT_TRUE(readable(timer, 10'000));
    EXPECT_EQ(expirations(timer), 1U);
    EXPECT_FALSE(readable(timer, 20));
    timer.stop_now(milliseconds(1));
    ASSERT_TRUE(readable(timer, 10'000));
    expirations(timer);
    EXPECT_TRUE(readable(timer, 10'000)) << "the second time";
}

TEST(StopTimer, IsPutOff) {
    const StopTimer timer;
    timer.stop_at(BootClock::now() + milliseconds(200), hours(1));
    timer.stop_at(BootClock::now() + hours(1), hours(1));
    EXPECT_FALSE(readable(timer, 400));
    timer.stop_at(BootClock::now() - hours(1), hours(100));
    EXPECT_TRUE(readable(timer, 10'000)) << "in the past";
    timer.never();
    EXPECT_FALSE(readable(timer, 20));
}

}  // namespace
}  // namespace dtrain::elastic
