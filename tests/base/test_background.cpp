// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Work beside the program. Oracles: what the function says itself, the thread that it runs in, and the mask
// of signals of that thread.
#include <csignal>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "base/background.hpp"

namespace dtrain {
namespace {

TEST(Background, GivesWhatTheFunctionReturnsOnce) {
    auto work =
        Background<std::string>::in_thread([word = std::make_unique<std::string>("word")] { return *word; });
    EXPECT_TRUE(work.valid());
    EXPECT_EQ(work.get(), "word");
    EXPECT_FALSE(work.valid());
    EXPECT_FALSE(Background<int>().valid());
}

TEST(Background, ThrowsWhatTheFunctionThrows) {
    auto work = Background<void>::in_thread([] { throw std::runtime_error("in vain"); });
    try {
        work.get();
        FAIL() << "it did not throw";
    } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "in vain");
    }
    EXPECT_FALSE(work.valid());
}

TEST(Background, IsReadyWhenTheFunctionHasEnded) {
    std::binary_semaphore may_end(0);
    auto work = Background<int>::in_thread([&] {
        may_end.acquire();
        return 3;
    });
    EXPECT_FALSE(work.is_ready());
    may_end.release();
    while (!work.is_ready()) std::this_thread::yield();
    EXPECT_EQ(work.get(), 3);
}

TEST(Background, IsWaitedForAtItsEndAndBeforeItGetsAnother) {
    std::binary_semaphore may_end(0);
    bool first = false;
    bool second = false;
    {
        auto work = Background<void>::in_thread([&] {
            may_end.acquire();
            first = true;
        });
        may_end.release();
        work = Background<void>::in_thread([&] { second = true; });
        EXPECT_TRUE(first);
    }
    EXPECT_TRUE(second);
}

TEST(Background, ItsThreadTakesNoSignals) {
    auto work = Background<bool>::in_thread([] {
        sigset_t blocked;
        ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
        return ::sigismember(&blocked, SIGTERM) == 1 && ::sigismember(&blocked, SIGUSR1) == 1;
    });
    EXPECT_TRUE(work.get());
    sigset_t own;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &own);
    EXPECT_EQ(::sigismember(&own, SIGTERM), 0);
}

TEST(Background, AtOnceIsByTheCallerWhoLearnsOfFailuresLater) {
    auto result = Background<std::thread::id>::at_once([] { return std::this_thread::get_id(); });
    EXPECT_TRUE(result.is_ready());
    EXPECT_EQ(result.get(), std::this_thread::get_id());
    auto failed = Background<void>::at_once([] { throw std::runtime_error("in vain"); });
    EXPECT_THROW(failed.get(), std::runtime_error);
}

}  // namespace
}  // namespace dtrain
