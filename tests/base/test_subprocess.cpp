// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what a shell reports for the same commands; for names of signals glibc, where it is 2.32 or newer.
#include <csignal>
#include <cstring>

#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "base/subprocess.hpp"

namespace dtrain {
namespace {

using namespace std::chrono_literals;

TEST(Subprocess, CapturesBothStreamsAndTheCode) {
    const auto got = run_and_capture({.argv = {"sh", "-c", "echo out; echo err >&2; exit 7"}}, 10s);
    EXPECT_EQ(got.out, "out\n");
    EXPECT_EQ(got.err, "err\n");
    EXPECT_EQ(got.status, (ExitStatus{.code = 7}));
    EXPECT_EQ(got.status.to_string(), "exit code 7");
}

TEST(Subprocess, TellsTheSignal) {
    const auto got = run_and_capture({.argv = {"sh", "-c", "kill -SEGV $$"}}, 10s);
    EXPECT_EQ(got.status.signal, SIGSEGV);
    EXPECT_EQ(got.status.shell_status(), 139);
    EXPECT_EQ(got.status.to_string(), "signal SIGSEGV (11)");
}

TEST(Subprocess, NamesAllSignals) {
    EXPECT_EQ(signal_name(SIGTERM), "SIGTERM");
    EXPECT_EQ(signal_name(SIGIO), "SIGPOLL");
    EXPECT_EQ(signal_name(SIGRTMIN), "signal " + std::to_string(SIGRTMIN));
#if __GLIBC_PREREQ(2, 32)
    for (int signal = -1; signal <= 80; ++signal) {
        const char* name = ::sigabbrev_np(signal);
        EXPECT_EQ(signal_name(signal),
                  name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(signal));
    }
#endif
}

TEST(Subprocess, LimitKills) {
    EXPECT_EQ(run_and_capture({.argv = {"sleep", "100"}}, 50ms).status.signal, SIGKILL);
}

TEST(Subprocess, WhoWorksHasTheLongerLimit) {
    const std::string counts = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo counted";
    EXPECT_EQ(run_and_capture({.argv = {"sh", "-c", counts}}, 10ms).status.signal, SIGKILL);
    EXPECT_EQ(run_and_capture({.argv = {"sh", "-c", counts}}, 10ms, 60s).out, "counted\n");
    EXPECT_EQ(run_and_capture({.argv = {"sh", "-c", "while :; do :; done"}}, 10ms, 50ms).status.signal,
              SIGKILL);
    EXPECT_EQ(run_and_capture({.argv = {"sleep", "1000"}}, 10ms, 60min).status.signal, SIGKILL);
}

TEST(Subprocess, NamesTheMissingProgram) {
    try {
        Subprocess child({.argv = {"dtrain-no-such-program"}});
        FAIL();
    } catch (const UsageError& error) {
        EXPECT_NE(std::string(error.what()).find("dtrain-no-such-program"), std::string::npos);
    }
}

TEST(Subprocess, ReadsWhatIsWrittenUntilTheObjectGoes) {
    std::string got(64, '\0');
    {
        Subprocess child({.argv = {"cat"}, .pipe_input = true});
        ASSERT_TRUE(write_all(child.stdin_fd(), "to you\n"));
        got.resize(static_cast<std::size_t>(::read(child.stdout_fd(), got.data(), got.size())));
        EXPECT_FALSE(child.poll()) << "its stdin is still open";
    }
    EXPECT_EQ(got, "to you\n");
}

TEST(Subprocess, EnvironmentIsExactlyTheGivenOne) {
    const auto got = run_and_capture({.argv = {"/usr/bin/env"}, .environment = {{"ONLY", "this one"}}}, 10s);
    EXPECT_EQ(got.out, "ONLY=this one\n");
}

}  // namespace
}  // namespace dtrain
