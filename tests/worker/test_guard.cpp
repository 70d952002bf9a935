// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: real programs that tell their process numbers; afterwards the kernel says whether they are gone.
// The pipe that they write into ends only when the last of them is.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/process_tree.hpp"
#include "base/text.hpp"
#include "programs.hpp"

namespace dtrain::worker {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Kind = GuardEvent::Kind;

/// Long enough that a tree which ends within it did not wait for SIGKILL.
constexpr auto long_grace = 60s;

class GuardTest : public testing::Test {
  protected:
    /// Starts a script under a guard; its output arrives at out().
    Guard& start(const std::string& script, std::chrono::milliseconds grace = long_grace) {
        auto pipe = Pipe::open();
        out_ = std::move(pipe.read_end);
        return guard_.emplace(shell(script, std::move(pipe.write_end), grace));
    }

    int out() const { return out_.get(); }

    std::optional<GuardEvent> event() {
        if (!wait_readable(guard_->fd())) {
            ADD_FAILURE() << "no event";
            return std::nullopt;
        }
        return guard_->read_event();
    }

    pid_t started() {
        const auto guard_event = event();
        if (!guard_event || guard_event->kind != Kind::started) {
            ADD_FAILURE() << "the program did not start";
            return -1;
        }
        return guard_event->pid;
    }

    ExitStatus ended() {
        const auto guard_event = event();
        if (!guard_event || guard_event->kind != Kind::ended) {
            ADD_FAILURE() << "the program did not end";
            return {};
        }
        return ExitStatus::of_wait(guard_event->wait_status);
    }

    void expect_guard_ends_well() {
        EXPECT_FALSE(event().has_value());
        EXPECT_TRUE(guard_->reap());
        EXPECT_TRUE(descendants_of(::getpid()).empty());
    }

    /// Also after a failed test nothing is left.
    void TearDown() override {
        guard_.reset();
        while (::waitpid(-1, nullptr, 0) > 0) {
        }
    }

    pid_t printed_pid() const { return parse_int(read_line(out())).value_or(-1); }

    std::optional<Guard> guard_;

  private:
    FileDescriptor out_;
};

TEST_F(GuardTest, TellsStartAndExitCode) {
    start("echo $$; echo error >&2; exit 7");
    const auto pid = started();
    EXPECT_EQ(ended(), (ExitStatus{.code = 7}));
    expect_guard_ends_well();
    EXPECT_EQ(read_to_end(out()), std::to_string(pid) + "\nerror\n");
}

TEST_F(GuardTest, TellsSuccess) {
    start("exit 0");
    started();
    EXPECT_TRUE(ended().success());
    expect_guard_ends_well();
}

TEST_F(GuardTest, TellsTheSignal) {
    start("kill -SEGV $$");
    started();
    EXPECT_EQ(ended(), (ExitStatus{.signal = SIGSEGV}));
    expect_guard_ends_well();
}

TEST_F(GuardTest, TellsWhyAProgramCannotBeExecuted) {
    struct Case {
        const char* executable;
        int error;
    };
    for (const auto& each : {Case{"/no/such/program", ENOENT}, Case{"/etc", EACCES}}) {
        auto pipe = Pipe::open();
        guard_.emplace(GuardedProgram{.executable = each.executable,
                                      .argv = {"x"},
                                      .output = std::move(pipe.write_end),
                                      .grace = long_grace});
        const auto guard_event = event();
        ASSERT_TRUE(guard_event);
        EXPECT_EQ(guard_event->kind, Kind::cannot_execute);
        EXPECT_EQ(guard_event->error, each.error);
        while (event()) {
        }
        EXPECT_TRUE(guard_->reap());
    }
}

TEST_F(GuardTest, GivesExactlyTheArgumentsAndVariables) {
    auto pipe = Pipe::open();
    guard_.emplace(GuardedProgram{
        .executable = "/bin/sh",
        .argv = {"any name", "-c", "printf '%s|' \"$0\" \"$@\"; /usr/bin/env", "a b", "", "$HOME;*", "é"},
        .environment = {{"ONLY", "this=one"}},
        .output = std::move(pipe.write_end),
        .grace = long_grace});
    started();
    EXPECT_TRUE(ended().success());
    expect_guard_ends_well();
    const auto text = read_to_end(pipe.read_end.get());
    EXPECT_TRUE(text.starts_with("a b||$HOME;*|é|")) << text;
    EXPECT_NE(text.find("ONLY=this=one\n"), std::string::npos) << text;
    EXPECT_EQ(text.find("PATH="), std::string::npos) << text;
}

TEST_F(GuardTest, TheProgramHasAGroupOfItsOwnOutsideOfOurSession) {
    start("cut -d' ' -f1,5,6 /proc/$$/stat");
    const auto pid = std::to_string(started());
    const auto fields = split(read_line(out()), ' ');
    ASSERT_EQ(fields.size(), 3U);
    EXPECT_EQ(fields[0], pid);
    EXPECT_EQ(fields[1], pid) << "process group";
    EXPECT_NE(fields[2], std::to_string(::getsid(0))) << "session";
    ended();
    expect_guard_ends_well();
}

TEST_F(GuardTest, TheProgramHasNoneOfOurDescriptorsAndSignalSettings) {
    constexpr int high = 2000;
    rlimit limit{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    const rlimit raised{std::max<rlim_t>(limit.rlim_cur, high + 1), limit.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &raised) != 0) GTEST_SKIP() << "no descriptor may be " << high;
    const FileDescriptor inherited(::dup2(STDERR_FILENO, high));
    ASSERT_EQ(inherited.get(), high);
    ::signal(SIGUSR1, SIG_IGN);
    start(
        "ls /proc/$$/fd | tr '\\n' ' '; grep -E '^Sig(Blk|Ign)' /proc/$$/status | tr '\\n' ' '; "
        "head -c 1 | wc -c");
    started();
    ended();
    ::signal(SIGUSR1, SIG_DFL);
    const auto text = read_to_end(out());
    EXPECT_EQ(text.substr(0, 6), "0 1 2 ") << text;
    EXPECT_NE(text.find("SigBlk:\t0000000000000000"), std::string::npos) << text;
    EXPECT_NE(text.find("SigIgn:\t0000000000000000"), std::string::npos) << text;
    EXPECT_EQ(trimmed(text.substr(text.rfind(' '))), "0") << "its standard input is empty: " << text;
    expect_guard_ends_well();
}

TEST_F(GuardTest, StopEndsATreeThatObeysWellBeforeTheGrace) {
    start("sleep 1000 & echo $!; wait");
    const auto program = started();
    const auto child = printed_pid();
    const auto begin = Clock::now();
    guard_->stop(SIGTERM);
    EXPECT_EQ(ended().signal, SIGTERM);
    expect_guard_ends_well();
    EXPECT_LT(Clock::now() - begin, long_grace);
    EXPECT_TRUE(is_gone(program));
    EXPECT_TRUE(is_gone(child));
    EXPECT_EQ(read_to_end(out()), "");
}

TEST_F(GuardTest, StopSendsTheSignalItWasGiven) {
    start("trap 'echo interrupted; exit 3' INT; echo ready; while :; do sleep 0.02; done");
    started();
    EXPECT_EQ(read_line(out()), "ready");
    guard_->stop(SIGINT);
    EXPECT_EQ(ended().code, 3);
    expect_guard_ends_well();
    EXPECT_EQ(read_to_end(out()), "interrupted\n");
}

TEST_F(GuardTest, WhatIgnoresSigtermIsKilledAfterTheGrace) {
    constexpr auto grace = 300ms;
    start("sh -c 'trap \"\" TERM; echo $$; exec sleep 1000' & wait", grace);
    started();
    const auto stubborn = printed_pid();
    const auto begin = Clock::now();
    guard_->stop(SIGTERM);
    EXPECT_EQ(ended().signal, SIGTERM);
    EXPECT_FALSE(is_gone(stubborn) && Clock::now() - begin < grace) << "it has its grace";
    expect_guard_ends_well();
    EXPECT_GE(Clock::now() - begin, grace);
    EXPECT_TRUE(is_gone(stubborn));
    EXPECT_EQ(read_to_end(out()), "");
}

TEST_F(GuardTest, AProgramThatIgnoresSigtermItselfIsKilledAfterTheGrace) {
    start("trap '' TERM; echo ready; while :; do sleep 0.05; done", 100ms);
    started();
    EXPECT_EQ(read_line(out()), "ready");
    guard_->stop(SIGTERM);
    EXPECT_EQ(ended().signal, SIGKILL);
    expect_guard_ends_well();
}

TEST_F(GuardTest, WhatLeftTheSessionIsFound) {
    start("setsid sh -c 'echo $$; exec sleep 1000' & wait");
    started();
    const auto fled = printed_pid();
    guard_->stop(SIGTERM);
    ended();
    expect_guard_ends_well();
    EXPECT_TRUE(is_gone(fled));
}

TEST_F(GuardTest, WhatLostItsParentIsFound) {
    start("setsid sh -c 'setsid sleep 1000 & echo $!'; echo orphaned; exec sleep 1000");
    started();
    const auto orphan = printed_pid();
    EXPECT_EQ(read_line(out()), "orphaned");
    guard_->stop(SIGTERM);
    ended();
    expect_guard_ends_well();
    EXPECT_TRUE(is_gone(orphan));
}

TEST_F(GuardTest, AStoppedProcessIsWokenToEnd) {
    start("sleep 1000 & kill -STOP $!; echo $!; wait");
    started();
    const auto asleep = printed_pid();
    guard_->stop(SIGTERM);
    ended();
    expect_guard_ends_well();
    EXPECT_TRUE(is_gone(asleep));
}

TEST_F(GuardTest, ATreeThatForksWhileItIsKilledEnds) {
    start(
        "trap '' TERM; f() { (trap '' TERM; sleep 0.01; f) & }; f; f; f; echo ready; "
        "while :; do sleep 0.01; done",
        50ms);
    started();
    EXPECT_EQ(read_line(out()), "ready");
    guard_->stop(SIGTERM);
    EXPECT_EQ(ended().signal, SIGKILL);
    expect_guard_ends_well();
    EXPECT_EQ(read_to_end(out()), "");
}

TEST_F(GuardTest, WhatAnEndedProgramLeftBehindEndsToo) {
    start(
        "setsid sh -c 'trap \"\" TERM; echo $$; exec sleep 1000' & setsid sleep 1000 & echo $!; sleep 0.1; "
        "exit 3",
        100ms);
    started();
    const std::vector<pid_t> left{printed_pid(), printed_pid()};
    EXPECT_EQ(ended().code, 3) << "told at once, not after the grace";
    expect_guard_ends_well();
    for (const auto pid : left) EXPECT_TRUE(is_gone(pid));
}

TEST_F(GuardTest, WhatAProgramForksWhenItIsStoppedEndsWithIt) {
    start(
        "trap 'sleep 1000 & until grep -q sleep /proc/$!/comm; do :; done; exit 3' TERM; echo ready; "
        "while :; do sleep 0.02; done");
    started();
    EXPECT_EQ(read_line(out()), "ready");
    const auto begin = Clock::now();
    guard_->stop(SIGTERM);
    EXPECT_EQ(ended().code, 3);
    expect_guard_ends_well();
    EXPECT_LT(Clock::now() - begin, long_grace);
}

TEST_F(GuardTest, WhatEndsInOrderIsToldOnce) {
    start(
        "trap 'sleep 0.2; exit 0' TERM; "
        "sh -c 'trap \"echo told\" TERM; echo ready; for i in 1 2 3 4 5; do sleep 0.1; done' & wait");
    started();
    EXPECT_EQ(read_line(out()), "ready");
    guard_->stop(SIGTERM);
    EXPECT_TRUE(ended().success());
    expect_guard_ends_well();
    const auto text = read_to_end(out());
    EXPECT_NE(text.find("told\n"), std::string::npos);
    EXPECT_EQ(text.find("told\n"), text.rfind("told\n")) << text;
}

TEST_F(GuardTest, WhatAProgramStartsToEndInOrderIsLeftAlone) {
    start(
        "finished=$(mktemp -u); mkfifo $finished; export finished; "
        "trap '(sleep 0.1 &); (sh -c \"sleep 0.3; echo saved; echo > $finished\" &); read _ < $finished; "
        "rm $finished; exit 0' TERM; echo ready; while :; do sleep 0.02; done");
    started();
    EXPECT_EQ(read_line(out()), "ready");
    guard_->stop(SIGTERM);
    EXPECT_TRUE(ended().success());
    expect_guard_ends_well();
    EXPECT_NE(read_to_end(out()).find("saved\n"), std::string::npos);
}

TEST_F(GuardTest, ForwardReachesOnlyTheProgram) {
    start(
        "trap 'echo first' USR1; trap 'echo second' USR2; sleep 1000 & child=$!; echo $child; "
        "while :; do wait $child; done");
    started();
    const auto child = printed_pid();
    guard_->forward(SIGUSR1);
    EXPECT_EQ(read_line(out()), "first");
    guard_->forward(SIGUSR2);
    EXPECT_EQ(read_line(out()), "second");
    // A sleep that got one of them would be dead, or about to be.
    const auto status = read_file("/proc/" + std::to_string(child) + "/status").value_or("");
    EXPECT_EQ(status.find("State:\tZ"), std::string::npos) << status;
    EXPECT_NE(status.find("SigPnd:\t0000000000000000"), std::string::npos) << status;
    EXPECT_NE(status.find("ShdPnd:\t0000000000000000"), std::string::npos) << status;
    guard_->stop(SIGTERM);
    EXPECT_EQ(ended().signal, SIGTERM);
    expect_guard_ends_well();
}

TEST_F(GuardTest, ForwardToAnEndedProgramDoesNothing) {
    start("exit 0");
    started();
    ended();
    guard_->forward(SIGUSR1);
    guard_->stop(SIGTERM);
    expect_guard_ends_well();
    guard_->forward(SIGUSR1);
}

TEST_F(GuardTest, TheWorkersDeathEndsTheTree) {
    constexpr auto grace = 100ms;
    start("setsid sh -c 'trap \"\" TERM; echo $$; exec sleep 1000' & sleep 1000 & echo $!; wait", grace);
    const auto program = started();
    const std::vector<pid_t> tree{program, printed_pid(), printed_pid()};
    const auto below = descendants_of(::getpid());
    ASSERT_FALSE(below.empty());
    guard_.reset();  // closes the socket, as the kernel does for a killed worker
    EXPECT_EQ(read_to_end(out()), "");
    int status = 0;
    EXPECT_EQ(::waitpid(below.front(), &status, 0), below.front()) << "the guard";
    EXPECT_TRUE(ExitStatus::of_wait(status).success());
    for (const auto pid : tree) EXPECT_TRUE(is_gone(pid));
}

TEST_F(GuardTest, AKilledWorkerLeavesNothing) {
    auto pipe = Pipe::open();
    EXPECT_EQ(in_child([&] {
                  const Guard guard(
                      shell("setsid sleep 1000 & echo $!; wait", std::move(pipe.write_end), long_grace));
                  ::close(pipe.read_end.get());
                  wait_readable(guard.fd());
                  ::usleep(50'000);
                  return ::raise(SIGKILL);
              }),
              128 + SIGKILL);
    pipe.write_end.reset();
    const auto sleeper = parse_int(read_line(pipe.read_end.get())).value_or(-1);
    EXPECT_EQ(read_to_end(pipe.read_end.get()), "");
    EXPECT_GT(sleeper, 0);
}

TEST_F(GuardTest, AKilledGuardIsNoticedAndItsTreeEndedByTheWorker) {
    // The worker is a subreaper: it inherits what the guard had.
    EXPECT_EQ(in_child([] {
                  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
                  auto pipe = Pipe::open();
                  Guard guard(shell("setsid sh -c 'trap \"\" TERM; echo $$; exec sleep 1000' & wait",
                                    std::move(pipe.write_end), 100ms));
                  const auto guard_event = guard.read_event();
                  if (!guard_event || guard_event->kind != Kind::started) return 1;
                  if (!parse_int(read_line(pipe.read_end.get()))) return 2;
                  ::kill(descendants_of(::getpid()).front(), SIGKILL);
                  if (guard.read_event()) return 3;
                  if (guard.reap()) return 4;
                  end_descendants(100ms);
                  if (!descendants_of(::getpid()).empty()) return 5;
                  return read_to_end(pipe.read_end.get()).empty() ? 0 : 6;
              }),
              0);
}

}  // namespace
}  // namespace dtrain::worker
