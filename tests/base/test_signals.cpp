// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: signals that this process sends itself, and its own pid.
#include <csignal>
#include <pthread.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/signals.hpp"

namespace dtrain {
namespace {

using testing::IsSupersetOf;
using testing::UnorderedElementsAre;

/// Puts back the signal mask that a test changes.
class SignalsTest : public testing::Test {
  protected:
    void SetUp() override { ::pthread_sigmask(SIG_SETMASK, nullptr, &before_); }
    void TearDown() override { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  private:
    sigset_t before_{};
};

TEST_F(SignalsTest, AHeldSignalIsTakenOnce) {
    const SignalSource source({SIGUSR1, SIGTERM});
    EXPECT_FALSE(source.take());
    EXPECT_FALSE(is_waiting({SIGUSR1, SIGTERM}));
    ::raise(SIGTERM);
    EXPECT_TRUE(is_waiting({SIGUSR1, SIGTERM}));
    EXPECT_FALSE(is_waiting({SIGUSR1}));
    ::raise(SIGUSR1);
    std::vector<int> taken;
    while (const auto signal = source.take()) {
        taken.push_back(signal->number);
        EXPECT_EQ(signal->sender, ::getpid());
    }
    EXPECT_THAT(taken, UnorderedElementsAre(SIGTERM, SIGUSR1));
}

TEST_F(SignalsTest, StopSignalsComeWithOthers) {
    EXPECT_THAT(stop_signals_and({SIGCHLD}), UnorderedElementsAre(SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT));
    EXPECT_THAT(stop_signals_and(), IsSupersetOf({SIGTERM, SIGINT}));
}

}  // namespace
}  // namespace dtrain
