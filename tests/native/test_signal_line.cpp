// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the line that Paddle's documents show, and what a shell sees of a process that a signal ended.
#include <limits>
#include <unistd.h>

#include <gtest/gtest.h>

#include "native/signal_line.hpp"

namespace dtrain::native {
namespace {

TEST(SignalLine, AsTheDocumentsShowIt) {
    EXPECT_EQ(
        SignalLine(SIGTERM, 1164, 0x7f6cf1fc6700, 1022).text(),
        "[SignalInfo: *** SIGTERM (@0x3fe) received by PID 1164 (TID 0x7f6cf1fc6700) from PID 1022 ***]\n");
    EXPECT_EQ(SignalLine(SIGINT, 1, 0, 0).text(),
              "[SignalInfo: *** SIGINT (@0x0) received by PID 1 (TID 0x0) from PID 0 ***]\n");
}

TEST(SignalLine, TheLargestNumbersFit) {
    constexpr auto pid = std::numeric_limits<pid_t>::max();
    EXPECT_EQ(
        SignalLine(SIGTERM, pid, std::numeric_limits<std::uintptr_t>::max(), pid).text(),
        "[SignalInfo: *** SIGTERM (@0x7fffffff) received by PID 2147483647 (TID 0xffffffffffffffff) from PID "
        "2147483647 ***]\n");
}

TEST(AnnounceEndingSignalsDeathTest, ALineAndThenTheEnd) {
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT})
        EXPECT_EXIT(
            {
                ::signal(signal, SIG_DFL);
                announce_ending_signals();
                ::kill(::getpid(), signal);
                ::pause();
            },
            testing::KilledBySignal(signal),
            "^\\[SignalInfo: \\*\\*\\* SIG(TERM|INT|HUP|QUIT) \\(@0x[0-9a-f]+\\) received by PID [0-9]+ "
            "\\(TID 0x[0-9a-f]+\\) from PID [0-9]+ \\*\\*\\*\\]\n$");
}

TEST(AnnounceEndingSignalsDeathTest, IgnoredOnesStayIgnored) {
    EXPECT_EXIT(
        {
            ::signal(SIGHUP, SIG_IGN);
            announce_ending_signals();
            ::raise(SIGHUP);
            ::_exit(7);
        },
        testing::ExitedWithCode(7), "^$");
}

}  // namespace
}  // namespace dtrain::native
