// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the process numbers that the started programs print of themselves; getrusage.
#include <algorithm>
#include <csignal>
#include <future>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.hpp"
#include "base/process_tree.hpp"
#include "base/subprocess.hpp"
#include "base/text.hpp"

namespace dtrain {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAreArray;

/// The next number that a program prints, one a line.
pid_t printed_pid(const Subprocess& program) {
    std::string digits;
    char letter = 0;
    while (::read(program.stdout_fd(), &letter, 1) == 1 && letter != '\n') digits += letter;
    return parse_int(digits).value_or(-1);
}

/// What the tests start loses its parents on purpose; as a subreaper this process gets and reaps it.
class ProcessTree : public testing::Test {
  protected:
    void SetUp() override { ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0); }
    void TearDown() override {
        end_all_below();
        ::prctl(PR_SET_CHILD_SUBREAPER, 0);
    }
    static void end_all_below() {
        signal_descendants({SIGKILL});
        while (::waitpid(-1, nullptr, 0) > 0) {
        }
    }
};

TEST_F(ProcessTree, FindsChildrenBeforeGrandchildrenAlsoThoseOfOtherSessions) {
    // The name of the shell's child holds a blank and brackets, which /proc/PID/stat does not escape.
    Subprocess shell({.argv = {"sh", "-c",
                               "setsid sh -c 'printf \"a) S 1 (\" >/proc/$$/comm; echo $$; "
                               "sleep 1000 & echo $!; wait' & wait"}});
    const auto child = printed_pid(shell);
    const auto grandchild = printed_pid(shell);
    EXPECT_THAT(descendants_of(shell.pid()), ElementsAre(child, grandchild));
    EXPECT_THAT(descendants_of(child), ElementsAre(grandchild));
    EXPECT_THAT(descendants_of(grandchild), IsEmpty());
    EXPECT_THAT(descendants_of(::getpid()), ElementsAre(shell.pid(), child, grandchild));
    EXPECT_THAT(children_of(::getpid()), ElementsAre(shell.pid()));
    EXPECT_THAT(children_of(grandchild), IsEmpty());
    EXPECT_THAT(signal_descendants({SIGKILL}), ElementsAre(shell.pid(), child, grandchild));
    EXPECT_EQ(shell.wait().signal, SIGKILL);
    end_all_below();
    EXPECT_THAT(descendants_of(::getpid()), IsEmpty());
}

TEST_F(ProcessTree, TheKernelListsTheSameProcesses) {
    Subprocess shell({.argv = {"sh", "-c",
                               "setsid sh -c 'sleep 1000 & echo $!; sleep 1000 & echo $!; wait' & "
                               "sleep 1000 & echo $!; wait"}});
    for (int printed = 0; printed < 3; ++printed) printed_pid(shell);
    for (const auto root : {::getpid(), shell.pid(), descendants_of(shell.pid()).front()}) {
        EXPECT_THAT(processes_below(root), UnorderedElementsAreArray(descendants_of(root)));
        EXPECT_THAT(processes_below(root), Not(IsEmpty()));
    }
    EXPECT_THAT(processes_below(descendants_of(shell.pid()).back()), IsEmpty());
    EXPECT_THAT(processes_below(-1), IsEmpty());
}

TEST_F(ProcessTree, ChildrenOfOtherThreadsAreListed) {
    std::promise<pid_t> started;
    std::promise<void> may_end;
    std::jthread thread([&] {
        const Subprocess sleeps({.argv = {"sleep", "1000"}});
        started.set_value(sleeps.pid());
        may_end.get_future().wait();
    });
    EXPECT_THAT(processes_below(::getpid()), ElementsAre(started.get_future().get()));
    may_end.set_value();
}

TEST_F(ProcessTree, ASubreaperKeepsWhatLostItsParent) {
    Subprocess shell({.argv = {"sh", "-c", "setsid sleep 1000 & echo $!"}});
    const auto orphan = printed_pid(shell);
    EXPECT_TRUE(shell.wait().success());
    EXPECT_THAT(descendants_of(::getpid()), ElementsAre(orphan));
    signal_descendants({SIGTERM});
    int status = 0;
    EXPECT_EQ(::waitpid(orphan, &status, 0), orphan);
    EXPECT_EQ(ExitStatus::of_wait(status).signal, SIGTERM);
    EXPECT_THAT(descendants_of(::getpid()), IsEmpty());
}

std::chrono::microseconds used_by(int who) {
    rusage usage{};
    ::getrusage(who, &usage);
    return std::chrono::seconds(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           std::chrono::microseconds(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

TEST_F(ProcessTree, ProcessorTimeIsThatOfTheProcessAndItsEndedChildren) {
    const auto used = [] { return used_by(RUSAGE_SELF) + used_by(RUSAGE_CHILDREN); };
    Subprocess busy({.argv = {"sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done"}});
    busy.wait();
    const auto before = used();
    const auto stat = stat_of(::getpid());
    const auto after = used();
    ASSERT_TRUE(stat);
    EXPECT_GT(used_by(RUSAGE_CHILDREN), 50ms);
    EXPECT_GT(stat->cpu_time, before - 45ms) << "four sums, each cut to whole ticks of 10 ms";
    EXPECT_LE(stat->cpu_time, after);
    EXPECT_EQ(stat->parent, ::getppid());
    EXPECT_FALSE(stat_of(busy.pid()));
}

TEST_F(ProcessTree, WaitingForAProcessorIsThatOfAllThreads) {
    // Two that never sleep share the processor on which this thread is: each waits half of the time.
    const auto cpu = std::to_string(::sched_getcpu());
    const std::vector<std::string> endless{"taskset", "-c", cpu, "sh", "-c", "while :; do :; done"};
    const Subprocess one({.argv = endless});
    const Subprocess other({.argv = endless});
    for (int tries = 0; tries < 2000 && processor_wait_of(one.pid()) < 100ms; ++tries) ::usleep(10'000);
    EXPECT_GE(processor_wait_of(one.pid()), 100ms);
    EXPECT_EQ(processor_wait_of(-1), 0ms);
}

TEST_F(ProcessTree, BytesMovedAreThoseReadAndWritten) {
    const auto before = bytes_moved_by(::getpid());
    Subprocess copies({.argv = {"cat"}, .pipe_input = true});
    EXPECT_TRUE(write_all(copies.stdin_fd(), std::string(4096, 'x')));
    EXPECT_GE(bytes_moved_by(::getpid()) - before, 4096U);
    for (int tries = 0; tries < 1000 && bytes_moved_by(copies.pid()) < 2 * 4096; ++tries) ::usleep(10'000);
    EXPECT_GE(bytes_moved_by(copies.pid()), 2 * 4096U);
    EXPECT_EQ(bytes_moved_by(-1), 0U);
}

TEST_F(ProcessTree, SignalReachesEveryDescendant) {
    Subprocess shell(
        {.argv = {"sh", "-c", "(sleep 1000 & echo $!; wait) & setsid sleep 1000 & echo $!; wait"}});
    printed_pid(shell);
    printed_pid(shell);
    EXPECT_EQ(descendants_of(::getpid()).size(), 4U);
    signal_descendants({SIGKILL});
    EXPECT_EQ(shell.wait().signal, SIGKILL);
    end_all_below();
    EXPECT_THAT(descendants_of(::getpid()), IsEmpty());
}

TEST_F(ProcessTree, FindsProcessesByAVariable) {
    const auto token = fmt::format("token of {}", ::getpid());
    const auto start = [](Environment environment) {
        environment.set("PATH", "/usr/bin:/bin");
        return ProcessOptions{.argv = {"sleep", "1000"}, .environment = std::move(environment)};
    };
    Subprocess first(start({{"A_TOKEN", token}}));  // before PATH: the first of its variables
    Subprocess last(start({{"A_TOKEN", "other"}, {"Z_TOKEN", token}}));
    Subprocess longer_value(start({{"A_TOKEN", token + "0"}}));
    Subprocess longer_name(start({{"MY_A_TOKEN", token}}));
    Subprocess in_a_value(start({{"B", "A_TOKEN=" + token}}));
    EXPECT_THAT(processes_with_variable("A_TOKEN", token), ElementsAre(first.pid()));
    EXPECT_THAT(processes_with_variable("Z_TOKEN", token), ElementsAre(last.pid()));
    EXPECT_THAT(processes_with_variable("MY_A_TOKEN", token), ElementsAre(longer_name.pid()));
    EXPECT_THAT(processes_with_variable("A_TOKEN", token + "1"), IsEmpty());
}

/// A shell that replaces itself by a shell, and so on.
ProcessOptions replaces_its_program(Environment environment) {
    environment.set("PATH", "/usr/bin:/bin");
    return {.argv = {"sh", "-c", R"(exec sh -c "$0" "$0")", R"(exec sh -c "$0" "$0")"},
            .environment = std::move(environment)};
}

TEST_F(ProcessTree, AProcessIsFoundWhileItReplacesItsProgram) {
    const auto token = fmt::format("token of {}", ::getpid());
    Subprocess program(replaces_its_program({{"A_TOKEN", token}}));
    for (int looks = 0; looks < 1000; ++looks)
        ASSERT_THAT(processes_with_variable("A_TOKEN", token), ElementsAre(program.pid()))
            << "look " << looks << "; is it there? " << stat_of(program.pid()).has_value();
}

/// Of an environment of more bytes than a first read asks for.
TEST_F(ProcessTree, SoIsOneThatHasManyVariables) {
    const auto token = fmt::format("token of {}", ::getpid());
    Environment environment{{"Z_TOKEN", token}};
    for (const char name : std::string("ABCD")) environment.set({name}, std::string(50'000, name));
    Subprocess program(replaces_its_program(std::move(environment)));
    for (int looks = 0; looks < 1000; ++looks)
        ASSERT_THAT(processes_with_variable("Z_TOKEN", token), ElementsAre(program.pid()))
            << "look " << looks;
}

TEST_F(ProcessTree, TheCallerIsNotAmongThem) {
    const auto path = Environment::of_this_process().get("PATH");
    ASSERT_TRUE(path);
    Subprocess child({.argv = {"sleep", "1000"}});
    EXPECT_THAT(processes_with_variable("PATH", *path), Contains(child.pid()));
    EXPECT_THAT(processes_with_variable("PATH", *path), Not(Contains(::getpid())));
}

}  // namespace
}  // namespace dtrain
