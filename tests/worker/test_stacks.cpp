// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: programs that were started to wait in a known place.
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/process_tree.hpp"
#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "programs.hpp"
#include "support/temporary_folder.hpp"
#include "worker/held_process.hpp"
#include "worker/stacks.hpp"

namespace dtrain::worker {
namespace {

using namespace std::chrono_literals;
using testing::AnyOf;
using testing::ContainsRegex;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

/// Also a process that nobody has waited for yet has ended.
bool runs(pid_t pid) {
    const auto status = read_file("/proc/" + std::to_string(pid) + "/status").value_or("");
    return !status.empty() && status.find("State:\tZ") == std::string::npos;
}

/// Puts it into the folder, which is where tools are looked for then.
Environment with_gdb(const tests::TemporaryFolder& folder, const std::string& script) {
    const auto gdb = folder / "gdb";
    EXPECT_TRUE(write_all(open_log(gdb).get(), "#!/bin/sh\n" + script));
    ::chmod(gdb.c_str(), 0700);
    return {{"PATH", folder.path().string()}};
}

constexpr const char* hangs = "exec /bin/sleep 1000\n";
/// As gdb that is killed while it attaches.
constexpr const char* stops_it = "for pid in \"$@\"; do :; done\nkill -STOP $pid\n";

class StacksOf : public testing::Test {
  protected:
    StacksOf() {
        std::string line;
        for (char letter = 0; ::read(shell_.stdout_fd(), &letter, 1) == 1 && letter != '\n';) line += letter;
    }

    Subprocess shell_{{.argv = {"sh", "-c", "echo up; kill -STOP $$ # secret-argument"}}};
    Environment without_tools_{{"PATH", "/nowhere"}};
};

TEST_F(StacksOf, TheKernelIsAskedWhereThereIsNoTool) {
    const auto stacks = stacks_of(shell_.pid(), without_tools_, 10s);
    EXPECT_THAT(stacks.text, ContainsRegex("thread [0-9]+ \\(sh\\): [RST]"));
    EXPECT_THAT(stacks.top, ContainsRegex("of the kernel, [RST]"));
}

TEST_F(StacksOf, AToolThatHangsIsNotWaitedForLong) {
    const tests::TemporaryFolder folder;
    const auto stacks = stacks_of(shell_.pid(), with_gdb(folder, hangs), 100ms);
    EXPECT_THAT(stacks.text, HasSubstr("thread "));
}

TEST_F(StacksOf, AToolThatStillWorksIsWaitedFor) {
    const tests::TemporaryFolder folder;
    const auto* const works =
        "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done\n"
        "echo 'Thread 1 (LWP 1):'; echo '#0  here ()'\n";
    EXPECT_EQ(stacks_of(shell_.pid(), with_gdb(folder, works), 10ms).top, "here ()");
}

TEST_F(StacksOf, AToolThatIsEndedLeavesTheProcessRunning) {
    const tests::TemporaryFolder folder;
    Subprocess sleeper({.argv = {"sleep", "1000"}});
    stacks_of(sleeper.pid(), with_gdb(folder, std::string(stops_it) + hangs), 500ms);
    EXPECT_NE(stat_of(sleeper.pid())->state, 'T');
    sleeper.send(SIGKILL);
}

TEST_F(StacksOf, AToolThatFindsThemIsBelieved) {
    const tests::TemporaryFolder folder;
    const auto environment = with_gdb(folder, "echo 'Thread 1 (LWP 1):'; echo '#0  here ()'; echo \"$@\"\n");
    const auto stacks = stacks_of(shell_.pid(), environment, 10s);
    EXPECT_EQ(stacks.top, "here ()");
    EXPECT_THAT(stacks.text, HasSubstr("-p " + std::to_string(shell_.pid()) + "\n"));
}

TEST_F(StacksOf, OneThatASignalHasStoppedIsToldHowToGoOn) {
    const auto status = "/proc/" + std::to_string(shell_.pid()) + "/status";
    while (read_file(status).value_or("State:\tT").find("State:\tT") == std::string::npos) ::usleep(1000);
    const tests::TemporaryFolder folder;
    StackCollection stopped({shell_.pid()}, folder / "log.stacks", 0600, without_tools_);
    EXPECT_THAT(stopped.finish().top, EndsWith(", stopped by a signal: \"kill -CONT " +
                                               std::to_string(shell_.pid()) + "\" lets it go on"));
    StackCollection running({::getpid()}, folder / "log.stacks", 0600, without_tools_);
    EXPECT_THAT(running.finish().top, Not(HasSubstr("kill -CONT")));
}

TEST_F(StacksOf, OneThatADebuggerHoldsIsNotAsked) {
    const tests::TemporaryFolder folder;
    const auto marker = folder / "asked";
    const auto environment = with_gdb(folder, ": >" + marker.string() + "\n");
    Subprocess held{{.argv = {"sleep", "1000"}}};
    ASSERT_EQ(::ptrace(PTRACE_SEIZE, held.pid(), nullptr, nullptr), 0) << std::strerror(errno);
    ASSERT_EQ(::ptrace(PTRACE_INTERRUPT, held.pid(), nullptr, nullptr), 0);
    while (stat_of(held.pid())->state != 't') ::usleep(1000);
    StackCollection collection({held.pid()}, folder / "log.stacks", 0600, environment);
    const auto found = collection.finish();
    EXPECT_TRUE(found.is_stopped);
    EXPECT_EQ(found.held_by, "held by a debugger (test_worker, pid " + std::to_string(::getpid()) + ")");
    EXPECT_FALSE(std::filesystem::exists(marker));
    ::kill(held.pid(), SIGKILL);
}

TEST_F(StacksOf, AThreadThatStaysInTheKernelIsFound) {
    EXPECT_EQ(thread_in_kernel(::getpid()), 0);
    const auto child = ::fork();
    if (child == 0) {
        ::setpgid(0, 0);
        // Until that process ends, the thread is in the state of one that waits for a disk.
        std::thread([] {
            ::syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0) == 0 ? ::pause() : 0;
        }).join();
        ::_exit(0);
    }
    pid_t thread = 0;
    while (thread == 0) thread = thread_in_kernel(child);
    EXPECT_NE(thread, child);
    EXPECT_TRUE(
        std::filesystem::exists("/proc/" + std::to_string(child) + "/task/" + std::to_string(thread)));
    ::kill(-child, SIGKILL);
    ::waitpid(child, nullptr, 0);
}

TEST_F(StacksOf, ACollectionIsAPrivateFileOfAllProcesses) {
    const tests::TemporaryFolder folder;
    StackCollection collection({shell_.pid(), ::getpid()}, folder / "log.stacks", 0600, without_tools_);
    ASSERT_TRUE(wait_readable(collection.fd()));
    EXPECT_THAT(collection.finish().top, HasSubstr("of the kernel"));
    const auto text = read_file(folder / "log.stacks").value_or("");
    EXPECT_THAT(text, HasSubstr("==== pid " + std::to_string(shell_.pid()) + ": sh ("));
    EXPECT_THAT(text, HasSubstr("==== pid " + std::to_string(::getpid()) + ": test_worker ("));
    EXPECT_THAT(text, Not(HasSubstr("secret-argument")));
    struct stat info {};
    ASSERT_EQ(::stat((folder / "log.stacks").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0600U);
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), 0) << "the shell is the only child";
}

TEST_F(StacksOf, ACollectionThatNobodyWaitsForIsEndedWithItsTool) {
    const tests::TemporaryFolder folder;
    const auto up = folder / "up";
    const auto environment = with_gdb(folder, "echo $$ >" + up.string() + "\n" + hangs);
    Subprocess sleeper({.argv = {"sleep", "1000"}});
    {
        StackCollection collection({sleeper.pid()}, folder / "log.stacks", 0600, environment);
        for (int tries = 0; tries < 3000 && !read_file(up).value_or("").ends_with('\n'); ++tries)
            ::usleep(10'000);
    }
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), 0);
    const auto tool = parse_int(trimmed(read_file(up).value_or(""))).value_or(0);
    ASSERT_GT(tool, 0);
    for (int tries = 0; tries < 1000 && runs(tool); ++tries) ::usleep(10'000);
    EXPECT_FALSE(runs(tool));
    sleeper.send(SIGKILL);
}

TEST_F(StacksOf, ACollectionThatIsEndedLeavesProcessesAsTheyWere) {
    const tests::TemporaryFolder folder;
    const auto environment = with_gdb(folder, std::string(stops_it) + hangs);
    Subprocess running({.argv = {"sleep", "1000"}});
    Subprocess stopped({.argv = {"sleep", "1000"}});
    stopped.send(SIGSTOP);
    while (stat_of(stopped.pid())->state != 'T') ::usleep(1000);
    {
        StackCollection collection({running.pid(), stopped.pid()}, folder / "log.stacks", 0600, environment);
        for (int tries = 0; tries < 3000 && stat_of(running.pid())->state != 'T'; ++tries) ::usleep(10'000);
        EXPECT_EQ(stat_of(running.pid())->state, 'T');
    }
    EXPECT_NE(stat_of(running.pid())->state, 'T');
    EXPECT_EQ(stat_of(stopped.pid())->state, 'T');
    running.send(SIGKILL);
    stopped.send(SIGKILL);
}

}  // namespace
}  // namespace dtrain::worker
