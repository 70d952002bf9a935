// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: signal(7), the shell's convention for exit statuses, and where an administrator would look.
#include <csignal>
#include <sysexits.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/outcome/meaning.hpp"

namespace dtrain::launch {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(UsualMeaning, OfSignals) {
    const std::pair<int, const char*> cases[]{
        {SIGKILL, "OOM killer"},        {SIGBUS, "/dev/shm"},      {SIGSEGV, "memory"},
        {SIGABRT, "failed check"},      {SIGILL, "CPU"},           {SIGFPE, "divided by zero"},
        {SIGPIPE, "reader was gone"},   {SIGSYS, "sandbox"},       {SIGXCPU, "ulimit -t"},
        {SIGXFSZ, "ulimit -f"},         {SIGTERM, "asked to end"}, {SIGINT, "asked to end"},
        {SIGUSR1, "no handler for it"}, {SIGALRM, "timer"},
    };
    for (const auto& [signal, words] : cases) {
        EXPECT_THAT(usual_meaning({.signal = signal}).value_or(""), HasSubstr(words)) << signal;
        EXPECT_THAT(
            usual_meaning({.code = 128 + signal}).value_or(""),
            StartsWith("how a shell tells that its command was ended by " + signal_name(signal) + ": "));
    }
}

TEST(UsualMeaning, OfTheShellsOwnStatuses) {
    EXPECT_THAT(usual_meaning({.code = 126}).value_or(""), HasSubstr("chmod +x"));
    EXPECT_THAT(usual_meaning({.code = 127}).value_or(""), HasSubstr("not found"));
}

TEST(UsualMeaning, OfAJobThatGoesOnLater) {
    EXPECT_THAT(usual_meaning({.code = EX_TEMPFAIL}).value_or(""), HasSubstr("started again later"));
}

TEST(UsualMeaning, OnlyTheProgramKnowsItsOtherStatuses) {
    for (const int code : {0, 1, 2, 7, EX_USAGE, 125, 128, 128 + SIGCHLD, 128 + SIGRTMAX, 241, 255})
        EXPECT_EQ(usual_meaning({.code = code}), std::nullopt) << code;
    EXPECT_EQ(usual_meaning({.signal = SIGRTMIN}), std::nullopt);
}

}  // namespace
}  // namespace dtrain::launch
