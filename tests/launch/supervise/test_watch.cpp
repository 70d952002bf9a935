// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: watch.hpp. In mpirun's or srun's place is a shell script, which says what ranks would say, asks its
// parent (this process) to stop as users and schedulers do, and writes down what it is told. What it waits
// for in vain for half a minute it takes for not sent, tells which signals wait where, and ends with
// status 9.
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <string>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.hpp"
#include "base/process_tree.hpp"
#include "base/text.hpp"
#include "base/wall_clock.hpp"
#include "launch/backend/mpirun/mpirun_backend.hpp"
#include "launch/supervise/watch.hpp"
#include "protocol/event_lines.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain::launch {
namespace {

using namespace std::chrono_literals;
using cluster::Event;
using Kind = Event::Kind;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* beginning = R"sh(
told=$1/told
: > "$told"
note() { echo "$1" >> "$told"; }
await() {  # that so many lines of $told are $1
    tries=0
    until [ "$(grep -cx "$1" "$told")" -ge "$2" ]; do
        tries=$((tries + 1))
        [ $tries -lt 750 ] || { grep -H '^Sh\|^Sig' /proc/$$/status /proc/$PPID/status >&2; exit 9; }
        sleep 0.02
    done
}
trap '' TERM
trap 'note stacks' ABRT
trap 'note order' ALRM
trap 'note usr1' USR1
trap 'note usr2' USR2
)sh";

class WatchTest : public testing::Test {
  protected:
    WatchTest() {
        options_.environment = Environment::of_this_process();
        options_.environment.set("DTRAIN_JOB_TOKEN", token());
        options_.job_token = token();
        options_.control = MpirunBackend().control("", "");
        options_.grace = 10min;  // that nothing here waits for
        ::mkfifo((folder_ / "stop").c_str(), 0600);
    }
    ~WatchTest() override {
        for (const auto pid : processes_with_variable("DTRAIN_JOB_TOKEN", token())) ::kill(pid, SIGKILL);
    }

    std::string token() const { return folder_.path().string(); }

    /// The shell's command by which a rank says it.
    static std::string print_event(Kind kind, int rank, int code = 0) {
        return "printf '%s\\n' '" +
               cluster::encode(
                   {.kind = kind, .rank = rank, .host = "n1", .code = code, .time_us = now_us()}) +
               "' >&2\n";
    }

    Watched watched(int size, const std::string& script) {
        options_.size = size;
        options_.command = {"/bin/sh", "-c", beginning + script, "engine", folder_.path().string()};
        return watch(options_);
    }

    std::vector<std::string> notes() const {
        auto lines = split(tests::bytes_of(folder_ / "told"), '\n');
        std::erase(lines, "");
        return lines;
    }

    const tests::TemporaryFolder folder_;
    WatchOptions options_;
};

TEST_F(WatchTest, AJobThatGoesWellIsLeftAlone) {
    const auto end = watched(2, print_event(Kind::started, 0) + print_event(Kind::started, 1) +
                                    "echo 'of the engine' >&2\n" + print_event(Kind::done, 0) +
                                    print_event(Kind::done, 1));
    EXPECT_TRUE(end.job.all_done());
    EXPECT_EQ(end.engine_status, ExitStatus{});
    EXPECT_EQ(end.engine_text, "of the engine\n");
    EXPECT_THAT(notes(), IsEmpty());
}

TEST_F(WatchTest, AnEventAfterTheBeginningOfATornOneIsTaken) {
    const auto torn = cluster::encode({.kind = Kind::state, .rank = 0, .host = "n0"}).substr(0, 60);
    const auto end =
        watched(2, print_event(Kind::started, 0) + print_event(Kind::started, 1) + "printf '%s' '" + torn +
                       "' >&2\n" + print_event(Kind::done, 1) + print_event(Kind::done, 0));
    EXPECT_TRUE(end.job.all_done());
}

// As mpirun of Open MPI 5.0.7 passes on "a line\nno end", then an event.
TEST_F(WatchTest, OutputInFrontOfAnEventStaysOutput) {
    auto late = print_event(Kind::done, 0);
    late.insert(late.find("' '") + 3, "no end");
    testing::internal::CaptureStdout();
    const auto end = watched(1, print_event(Kind::started, 0) + "echo 'a line'\n" + late);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "a line\nno end");
    EXPECT_TRUE(end.job.all_done());
    EXPECT_EQ(end.engine_text, "");
}

TEST_F(WatchTest, WhatRanksSendToBeShownGoesToItsStream) {
    const auto shown = [](int stream, const std::string& text) {
        return "printf '%s\\n' '" +
               cluster::encode(
                   {.kind = Kind::console, .rank = 0, .host = "n1", .code = stream, .text = text}) +
               "' >&2\n";
    };
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const auto end =
        watched(1, print_event(Kind::started, 0) + shown(STDOUT_FILENO, "to be ") + shown(0, "an error\n") +
                       shown(STDOUT_FILENO, "shown\n") + print_event(Kind::done, 0));
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "to be shown\n");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "an error\n");
    EXPECT_TRUE(end.job.all_done());
}

TEST_F(WatchTest, TheZeroBehindAMessageOfMpiIsNotShown) {
    testing::internal::CaptureStdout();
    const auto end = watched(
        1, print_event(Kind::started, 0) + "printf 'MPI_ABORT\\n\\0' >&2\n" + print_event(Kind::done, 0));
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
    EXPECT_EQ(end.engine_text, "MPI_ABORT\n");
    EXPECT_TRUE(end.job.all_done());
}

TEST_F(WatchTest, ALongEventInPartsIsTaken) {
    const Event long_one{.kind = Kind::state,
                         .rank = 0,
                         .host = "n0",
                         .state = R"({"a":")" + std::string(2000, 'a') + R"("})"};
    std::string script;
    for (const auto& line : cluster::lines_of(long_one)) script += "printf '%s' '" + line + "' >&2\n";
    const auto end = watched(1, print_event(Kind::started, 0) + script + print_event(Kind::done, 0));
    EXPECT_EQ(end.job.state_of(0), long_one.state);
}

TEST_F(WatchTest, SignalsOfTheUserArePassedOn) {
    const auto end = watched(1, print_event(Kind::started, 0) +
                                    "kill -USR1 $PPID; await usr1 1; kill -USR2 $PPID; await usr2 1\n" +
                                    print_event(Kind::done, 0));
    EXPECT_EQ(end.engine_status, ExitStatus{}) << end.engine_text;
    EXPECT_EQ(end.asked_to_stop_by, 0);
    EXPECT_THAT(notes(), ElementsAre("usr1", "usr2"));
}

TEST_F(WatchTest, RanksLeaveWhenAllHaveStopped) {
    const auto end = watched(2, print_event(Kind::started, 0) + print_event(Kind::started, 1) +
                                    "kill -TERM $PPID; await order 1\n" + print_event(Kind::stopped, 0) +
                                    "sleep 0.2\n" + print_event(Kind::alive, 1) + "sleep 0.2; note last\n" +
                                    print_event(Kind::stopped, 1) + "await order 2\n");
    EXPECT_EQ(end.engine_status, ExitStatus{});
    EXPECT_EQ(end.asked_to_stop_by, SIGTERM);
    EXPECT_FALSE(end.killed_at_once);
    EXPECT_THAT(end.job.stopped(), ElementsAre(0, 1));
    EXPECT_THAT(notes(), ElementsAre("order", "last", "order"));
}

TEST_F(WatchTest, AFailureStopsTheOthers) {
    const auto end = watched(2, print_event(Kind::started, 0) + print_event(Kind::started, 1) +
                                    print_event(Kind::exited, 1, 7) + "await order 1\n" +
                                    print_event(Kind::stopped, 0) + "await order 2; exit 3\n");
    EXPECT_EQ(end.engine_status, ExitStatus{.code = 3});
    ASSERT_EQ(end.job.failures().size(), 1U);
    EXPECT_EQ(end.job.failures().front().code, 7);
    EXPECT_THAT(end.job.stopped(), ElementsAre(0));
}

TEST_F(WatchTest, ServersAreStoppedWhenTheWorkIsDone) {
    options_.service_ranks = {0};
    const auto end = watched(2, print_event(Kind::started, 0) + print_event(Kind::started, 1) +
                                    print_event(Kind::done, 1) + "await order 1\n" +
                                    print_event(Kind::stopped, 0) + "await order 2\n");
    EXPECT_EQ(end.engine_status, ExitStatus{});
    EXPECT_TRUE(end.job.all_done());
    EXPECT_EQ(end.asked_to_stop_by, 0);
}

TEST_F(WatchTest, RanksThatAllAreIdleAreStopped) {
    const auto end = watched(1, print_event(Kind::started, 0) + print_event(Kind::idle, 0) +
                                    "await order 1\n" + print_event(Kind::stopped, 0) + "await order 2\n");
    EXPECT_EQ(end.engine_status, ExitStatus{});
    EXPECT_EQ(end.hung.size(), 1U);
}

TEST_F(WatchTest, TheSecondSignalKills) {
    const auto end = watched(1, print_event(Kind::started, 0) +
                                    "kill -INT $PPID; await order 1; kill -INT $PPID; await never 1\n");
    EXPECT_EQ(end.engine_status, ExitStatus{.signal = SIGKILL});
    EXPECT_EQ(end.asked_to_stop_by, SIGINT);
    EXPECT_TRUE(end.killed_at_once);
    EXPECT_THAT(processes_with_variable("DTRAIN_JOB_TOKEN", token()), IsEmpty());
}

/// As an eventfd would: eight bytes with 1.
constexpr const char* order_to_stop = R"(printf '\001\000\000\000\000\000\000\000' > "$1/stop")";

TEST_F(WatchTest, AnOrderStopsAndASecondOneKills) {
    const FileDescriptor orders(::open((folder_ / "stop").c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
    options_.stop_fd = orders.get();
    const auto first = print_event(Kind::started, 0) + order_to_stop + "; await order 1\n";
    const auto end = watched(1, first + print_event(Kind::stopped, 0) + "await order 2\n");
    EXPECT_EQ(end.engine_status, ExitStatus{});
    EXPECT_TRUE(end.commanded_to_stop);
    EXPECT_FALSE(end.killed_at_once);

    const auto killed = watched(1, first + order_to_stop + "; await never 1\n");
    EXPECT_EQ(killed.engine_status, ExitStatus{.signal = SIGKILL});
    EXPECT_TRUE(killed.killed_at_once);
}

TEST_F(WatchTest, AnEngineThatDoesNotEndIsKilled) {
    options_.control = {.by_lines = false, .death_signal = 0, .at_once = SIGTERM, .end_remaining = {}};
    const auto end = watched(1, print_event(Kind::started, 0) +
                                    "kill -INT $PPID; await order 1; kill -INT $PPID; await never 1\n");
    EXPECT_EQ(end.engine_status, ExitStatus{.signal = SIGKILL});
}

TEST_F(WatchTest, WhatEscapedIsEnded) {
    options_.grace = 0ms;
    const auto end = watched(1, print_event(Kind::started, 0) + "sleep 1000 > /dev/null 2>&1 & exit 1\n");
    EXPECT_EQ(end.engine_status, ExitStatus{.code = 1});
    EXPECT_THAT(end.job.silent(), ElementsAre(0));
    EXPECT_THAT(processes_with_variable("DTRAIN_JOB_TOKEN", token()), IsEmpty());
}

TEST_F(WatchTest, OrdersAreLinesWhereTheEngineCopiesThem) {
    options_.control = {.by_lines = true, .death_signal = 0, .at_once = SIGTERM, .end_remaining = {}};
    const auto end = watched(
        1, "hear() { while read -r line && note \"$line\" && [ \"$line\" != \"$1\" ]; do :; done; }\n" +
               print_event(Kind::started, 0) + "kill -USR2 $PPID; hear 'signal 12'\n" +
               "kill -TERM $PPID; hear stop\n" + print_event(Kind::stopped, 0) + "hear leave\n");
    EXPECT_EQ(end.engine_status, ExitStatus{});
    auto lines = notes();
    ASSERT_FALSE(lines.empty());
    EXPECT_EQ(lines.front(), "alive");
    std::erase(lines, "alive");  // comes again every few seconds
    EXPECT_THAT(lines, ElementsAre("signal 12", "stop", "leave"));
}

}  // namespace
}  // namespace dtrain::launch
