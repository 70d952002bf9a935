// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: Paddle's ABORT line, the shell's exit statuses, what mpirun says of a killed rank (4.1: copied from
// a run), and whole reports written out by hand: what somebody who has to find out why the job ended wants to
// read.
#include <csignal>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "launch/outcome/report.hpp"

namespace dtrain::launch {
namespace {

using cluster::Event;
using Kind = Event::Kind;
using How = RankEnd::How;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr const char* rank_1_killed_4 =
    "--------------------------------------------------------------------------\n"
    "mpirun noticed that process rank 1 with PID 0 on node big exited on signal 9 (Killed).\n"
    "--------------------------------------------------------------------------\n";

Event started(int rank, int pid, std::int64_t time_us) {
    return {.kind = Kind::started, .rank = rank, .host = "n1", .pid = pid, .time_us = time_us};
}

Event ended(Kind kind, int rank, std::int64_t time_us, ExitStatus status = {}, std::string text = "") {
    return {.kind = kind,
            .rank = rank,
            .host = "n1",
            .code = status.code,
            .signal = status.signal,
            .time_us = time_us,
            .text = std::move(text)};
}

JobState job_of(int size, const std::vector<Event>& events) {
    JobState job(size);
    for (const auto& event : events) job.take(event);
    return job;
}

/// The same end, with what the program says itself.
Event saying(RankError error, Event event) {
    event.error = to_json(error, cluster::max_event_error);
    return event;
}

RankError for_all(const std::string& message) {
    return {.kind = "dtrain::Error", .message = message, .for_all = true};
}

RankError of_server(int number, const std::string& why) {
    return {.kind = "dtrain::ps::ServerError",
            .message = "parameter server " + std::to_string(number) + ": " + why,
            .server = number};
}

RankError timeout_of(const std::string& operation, std::vector<RankError::Peer> missing) {
    return {.kind = "dtrain::CommunicatorTimeout",
            .message = operation + " number 7 waited 3.0 s for others",
            .operation = RankError::Operation{operation, 7, 3.0, std::move(missing)}};
}

std::vector<RankInfo> trainers(int size) {
    std::vector<RankInfo> ranks;
    for (int rank = 0; rank < size; ++rank)
        ranks.push_back({.number = rank,
                         .host = "planned",
                         .local_rank = rank,
                         .log = "/tmp/log/workerlog." + std::to_string(rank)});
    return ranks;
}

/// What ranks have written last.
using Logs = std::map<int, std::string>;

FailureReport examined(const JobState& job, const Ending& ending = {}, const Logs& logs = {},
                       std::vector<RankInfo> ranks = {}) {
    if (ranks.empty()) ranks = trainers(job.size());
    return examine(job, ending, ranks, [&](int rank) {
        const auto log = logs.find(rank);
        return log == logs.end() ? std::string() : log->second;
    });
}

std::vector<int> ranks_of(const std::vector<RankEnd>& ends) {
    std::vector<int> ranks;
    for (const auto& end : ends) ranks.push_back(end.rank);
    return ranks;
}

constexpr const char* paddles_sigterm =
    "[SignalInfo: *** SIGTERM (@0x3fe) received by PID 1164 (TID 0x7f6cf1fc6700) from PID 1022 ***]\n";

TEST(Report, SuccessSaysNothing) {
    const auto report = examined(job_of(2, {ended(Kind::done, 0, 10), ended(Kind::done, 1, 11)}));
    EXPECT_EQ(report.outcome, FailureReport::Outcome::done);
    EXPECT_EQ(report.status, 0);
    EXPECT_EQ(report_text(report), "");
    EXPECT_EQ(report.cause(), nullptr);
}

TEST(Report, ServersEndWithTheWorkers) {
    JobState job(2, {0});
    job.take(ended(Kind::done, 1, 10));
    job.stop_asked();
    job.take(ended(Kind::stopped, 0, 20, {.signal = SIGTERM}));
    const auto report = examined(job);
    EXPECT_EQ(report.status, 0);
    EXPECT_EQ(report_text(report), "");
    ASSERT_THAT(ranks_of(report.stopped), ElementsAre(0));
    EXPECT_EQ(final_lines(report, report.stopped[0]),
              "dtrain: stopped by SIGTERM because the others are done");
}

TEST(Report, AnExceptionOfPython) {
    auto job = job_of(3, {started(1, 4711, 1'000'000), ended(Kind::exited, 1, 3'450'000, {.code = 1})});
    job.stop_asked();
    job.take(ended(Kind::stopped, 0, 3'500'000, {.signal = SIGTERM}));
    job.take(ended(Kind::stopped, 2, 3'600'000, {.signal = SIGTERM}));
    auto ranks = trainers(3);
    ranks[1].gpus = {"4", "5"};
    const auto report =
        examined(job, {},
                 {{1,
                   "step 1\nTraceback (most recent call last):\n  File \"a.py\", line 1\n    f()\n"
                   "ValueError: my own words\n"}},
                 ranks);
    EXPECT_EQ(report.status, 1);
    EXPECT_EQ(report_text(report),
              "rank 1 on n1: the program ended with exit code 1: ValueError: my own words\n"
              "  local rank 1, GPUs 4,5, pid 4711, 2.5 s after its start\n"
              "  log: /tmp/log/workerlog.1\n"
              "---- last lines of workerlog.1 ----\n"
              "step 1\n"
              "Traceback (most recent call last):\n"
              "  File \"a.py\", line 1\n"
              "    f()\n"
              "ValueError: my own words\n"
              "----\n"
              "then stopped by dtrain-launch: ranks [0,2]\n"
              "ABORT!!! Out of all 3 trainers, the trainer process with rank=[1] was aborted. Please check "
              "its log.\n");
}

TEST(Report, AReasonThatIsTooLongForTheFirstLineHasLinesOfItsOwn) {
    auto end = ended(Kind::exited, 0, 5, {.code = 1});
    const auto of = [&](const std::string& message) {
        end.error = to_json(RankError{.source = RankError::Source::dtrain, .message = message},
                            cluster::max_event_error);
        return report_text(examined(job_of(1, {end})));
    };
    EXPECT_THAT(
        of("short"),
        StartsWith("rank 0 on n1: the program ended with exit code 1: short\n  local rank 0\n  log: "));
    const std::string longest(300, 'x');
    EXPECT_THAT(of(longest), HasSubstr("exit code 1: " + longest + "\n  local rank 0\n  log: "));
    EXPECT_THAT(of(longest + "x"),
                HasSubstr("exit code 1\n  local rank 0\n  error: " + longest + "x\n  log: "));
}

TEST(Report, AnExitCodeIsTheJobs) {
    const auto report = examined(job_of(1, {ended(Kind::exited, 0, 5, {.code = 7})}));
    EXPECT_EQ(report.status, 7);
    EXPECT_EQ(report_text(report),
              "rank 0 on n1: the program ended with exit code 7\n"
              "  local rank 0\n"
              "  log: /tmp/log/workerlog.0\n"
              "ABORT!!! Out of all 1 trainers, the trainer process with rank=[0] was aborted. Please check "
              "its log.\n");
}

TEST(Report, ASignalIs128AndItsNumberAndExplained) {
    auto job = job_of(2, {ended(Kind::exited, 0, 5, {.signal = SIGSEGV})});
    job.stop_asked();
    job.take(ended(Kind::stopped, 1, 6, {.signal = SIGTERM}));
    const auto report = examined(job, {}, {{0, "  File \"a.py\", line 1\n    f()\nValueError: long ago\n"}});
    EXPECT_EQ(report.status, 128 + SIGSEGV);
    EXPECT_EQ(report.failed[0].exception, "") << "what Python caught is not why the process crashed";
    EXPECT_EQ(report_text(report),
              "rank 0 on n1: the program ended with signal SIGSEGV (11)\n"
              "  local rank 0\n"
              "  hint: an access to memory that is not the program's: a bug in it or in a library it uses\n"
              "  log: /tmp/log/workerlog.0\n"
              "---- last lines of workerlog.0 ----\n"
              "  File \"a.py\", line 1\n"
              "    f()\n"
              "ValueError: long ago\n"
              "----\n"
              "then stopped by dtrain-launch: rank [1]\n"
              "ABORT!!! Out of all 2 trainers, the trainer process with rank=[0] was aborted. Please check "
              "its log.\n");
}

TEST(Report, WhatTheMachineSaysComesAfterTheUsualMeaning) {
    const std::string oom = "the kernel's OOM killer ended 1 process of memory cgroup /job (limit 1 GiB)";
    const auto killed = examined(job_of(1, {ended(Kind::exited, 0, 5, {.signal = SIGKILL}, oom)}));
    EXPECT_EQ(killed.status, 137);
    EXPECT_THAT(killed.hints, ElementsAre(HasSubstr("OOM killer"), oom));
    const auto child_killed = examined(job_of(1, {ended(Kind::exited, 0, 5, {.code = 3}, oom)}));
    EXPECT_THAT(child_killed.hints, ElementsAre(oom));
}

TEST(Report, AnErrorOfAGpuOfAnotherNodeIsToldWithTheCause) {
    const auto on = [](const char* host, Event event) {
        event.host = host;
        return event;
    };
    const std::string fell_off = "the kernel logged Xid 79 of GPU 0000:3b:00: the GPU has fallen off the bus";
    const std::string remapped = "the kernel logged Xid 63 of GPU 0000:5f:00: a broken row";
    const auto error = [](int rank, std::string text) {
        return ended(Kind::gpu_error, rank, 5, {}, std::move(text));
    };
    auto job =
        job_of(4, {started(0, 7, 1), started(1, 7, 1), on("n2", started(2, 7, 1)), on("n2", started(3, 7, 1)),
                   on("n2", error(2, fell_off)), on("n2", error(2, fell_off)), error(0, remapped),
                   ended(Kind::exited, 1, 9, {.code = 1}, remapped)});
    job.stop_asked();
    for (const int rank : {0, 2, 3})
        job.take(on(rank == 0 ? "n1" : "n2", ended(Kind::stopped, rank, 10, {.signal = SIGTERM})));
    const auto report = examined(job);
    EXPECT_THAT(report.hints, ElementsAre(remapped, "on n2, where ranks 2-3 ran, " + fell_off));
    EXPECT_THAT(report_text(report),
                HasSubstr("\n  hint: on n2, where ranks 2-3 ran, the kernel logged Xid 79 of "));

    auto elsewhere =
        job_of(2, {started(0, 7, 1), error(0, remapped), on("n2", ended(Kind::exited, 1, 9, {.code = 1}))});
    EXPECT_THAT(examined(elsewhere).hints, ElementsAre("on n1, where rank 0 ran, " + remapped));
}

TEST(Report, SeveralFailAtOnce) {
    const auto job =
        job_of(8, {ended(Kind::exited, 3, 300, {.code = 3}), ended(Kind::exited, 2, 100, {.code = 9})});
    const auto report = examined(job, {}, {{3, "  File \"a.py\", line 1\n    f()\nOSError: broken\n"}});
    EXPECT_EQ(report.status, 9) << "the first by the clock decides";
    EXPECT_THAT(ranks_of(report.failed), ElementsAre(2, 3));
    EXPECT_EQ(report_text(report),
              "rank 2 on n1: the program ended with exit code 9\n"
              "  local rank 2\n"
              "  log: /tmp/log/workerlog.2\n"
              "failed too: rank 3 on n1: the program ended with exit code 3; exception: OSError: broken\n"
              "never told how they ended: ranks [0,1,4,5,6,7]\n"
              "ABORT!!! Out of all 8 trainers, the trainer process with rank=[2,3] was aborted. Please check "
              "its log.\n");
}

/// A rank may find another one killed, and end, before that one's end is known.
TEST(Report, ARankThatWaitedForAKilledOneIsAConsequence) {
    const auto gave_up_on = [](int other) {
        return saying(timeout_of("allreduce", {{other, "its process, 4711, has ended"}}),
                      ended(Kind::exited, 2, 100, {.code = 2}));
    };
    const auto killed = ended(Kind::exited, 3, 300, {.signal = SIGKILL});
    const auto report = examined(job_of(4, {gave_up_on(3), killed}));
    EXPECT_THAT(ranks_of(report.failed), ElementsAre(3, 2));
    EXPECT_TRUE(report.failed.back().is_consequence());
    EXPECT_EQ(report.status, 128 + SIGKILL);
    EXPECT_THAT(report_text(report),
                AllOf(StartsWith("rank 3 on n1: the program ended with signal SIGKILL (9)\n"),
                      HasSubstr("failed too: rank 2 on n1: the program ended with exit code 2; error: "
                                "allreduce number 7 waited 3.0 s for others; log: ")));

    const auto exited = ended(Kind::exited, 3, 300, {.code = 1});
    EXPECT_THAT(ranks_of(examined(job_of(4, {gave_up_on(3), exited})).failed), ElementsAre(2, 3))
        << "it may have failed because the other one gave up";
    EXPECT_THAT(ranks_of(examined(job_of(4, {gave_up_on(1), killed})).failed), ElementsAre(2, 3))
        << "rank 1 has not failed";
}

TEST(Report, TheAbortLineNamesTheCauseAndThenAllInTheOrderOfRanks) {
    std::vector<Event> events;
    for (int rank = 0; rank < 12; ++rank)
        events.push_back(ended(Kind::exited, rank, 100 - rank, {.code = 1}));
    const auto text = report_text(examined(job_of(12, events)));
    EXPECT_THAT(text, AllOf(StartsWith("rank 11 on n1"), HasSubstr("failed too: rank 3 on n1"),
                            Not(HasSubstr("failed too: rank 2 on n1")), HasSubstr("\nand 3 more\n"),
                            HasSubstr("rank=[11,0,1,2,3,4,5,6,7,8,9,10] was aborted")));
}

TEST(Report, ARankThatSomebodyElseStoppedIsAConsequenceWhenItsLogSaysSo) {
    // Rank 0 got a SIGTERM from rank 4, whose reader had failed and which took some time to end.
    const auto job = job_of(
        2, {ended(Kind::exited, 0, 100, {.signal = SIGTERM}), ended(Kind::exited, 1, 200, {.code = 5})});
    const auto report = examined(job, {}, {{0, std::string("step 3\n") + paddles_sigterm}, {1, "broken\n"}});
    EXPECT_EQ(report.status, 5);
    EXPECT_THAT(ranks_of(report.failed), ElementsAre(1, 0));
    EXPECT_FALSE(report.failed[0].is_consequence());
    EXPECT_TRUE(report.failed[1].is_consequence());
    EXPECT_EQ(
        report_text(report),
        "rank 1 on n1: the program ended with exit code 5\n"
        "  local rank 1\n"
        "  log: /tmp/log/workerlog.1\n"
        "---- last lines of workerlog.1 ----\n"
        "broken\n"
        "----\n"
        "ended by SIGTERM, as its log says: rank 0 on n1: the program ended with signal SIGTERM (15)\n"
        "ABORT!!! Out of all 2 trainers, the trainer process with rank=[1,0] was aborted. Please check its "
        "log.\n");
    const auto without_line = examined(job, {}, {{1, "broken\n"}});
    EXPECT_THAT(ranks_of(without_line.failed), ElementsAre(0, 1)) << "nothing but the time is known then";
}

TEST(Report, WhenAllWereStoppedByOthersTheFirstIsNamed) {
    const auto job = job_of(2, {ended(Kind::exited, 1, 100, {.signal = SIGTERM}),
                                ended(Kind::exited, 0, 200, {.signal = SIGTERM})});
    const auto report = examined(job, {}, {{0, paddles_sigterm}, {1, paddles_sigterm}});
    EXPECT_EQ(report.status, 143);
    EXPECT_THAT(ranks_of(report.failed), ElementsAre(1, 0));
    EXPECT_FALSE(report.failed[1].is_consequence());
    EXPECT_THAT(report.hints, ElementsAre(HasSubstr("asked to end"), HasSubstr("look for who sent it")));
}

constexpr auto open_mpis_closed_socket =
    "[n2:00007] *** An error occurred in Socket closed\n"
    "[n2:00007] *** reported by process [565116929,0]\n"
    "[n2:00007] *** on a NULL communicator\n"
    "[n2:00007] *** Unknown error\n"
    "[n2:00007] *** MPI_ERRORS_ARE_FATAL (processes in this communicator will now abort,\n"
    "[n2:00007] ***    and MPI will try to terminate your MPI job as well)\n";

TEST(Report, ARankThatOpenMpiEndedAsAnotherWasGoneIsAConsequence) {
    // Rank 0's worker tells first, but the rank ended only because rank 1 had been killed.
    const auto job = job_of(
        2, {ended(Kind::exited, 0, 100, {.code = 14}), ended(Kind::exited, 1, 101, {.signal = SIGKILL})});
    const auto report = examined(job, {}, {{0, open_mpis_closed_socket}});
    EXPECT_EQ(report.status, 137);
    EXPECT_THAT(ranks_of(report.failed), ElementsAre(1, 0));
    EXPECT_THAT(report_text(report),
                HasSubstr("\nended by Open MPI, which lost its connection to another rank: rank 0 on n1: the "
                          "program ended with exit code 14\n"));
}

TEST(Report, WhatOpenMpiLeftToMpirunIsOfTheRanksThatItEnded) {
    const auto job =
        job_of(3, {ended(Kind::exited, 0, 100, {.code = 14}), ended(Kind::exited, 2, 101, {.code = 1}),
                   ended(Kind::exited, 1, 102, {.signal = SIGKILL})});
    const auto report = examined(job, {.engine_text = open_mpis_closed_socket});
    EXPECT_EQ(report.status, 1);
    EXPECT_THAT(ranks_of(report.failed), ElementsAre(2, 1, 0));
    EXPECT_EQ(report.failed.back().ended_by, EndedBy::lost_connection);
    EXPECT_THAT(ranks_of(examined(job).failed), ElementsAre(0, 2, 1)) << "mpirun said nothing";
}

TEST(Report, WhenOpenMpiEndedAllTheFirstIsNamedWithWhatItLost) {
    const auto job =
        job_of(2, {ended(Kind::exited, 1, 100, {.code = 14}), ended(Kind::exited, 0, 200, {.code = 14})});
    const auto report = examined(job, {}, {{0, open_mpis_closed_socket}, {1, open_mpis_closed_socket}});
    EXPECT_EQ(report.status, 14);
    EXPECT_THAT(ranks_of(report.failed), ElementsAre(1, 0));
    EXPECT_FALSE(report.failed[1].is_consequence());
    EXPECT_THAT(report.hints, ElementsAre(HasSubstr("look for a rank that ended or a network that failed")));
}

TEST(Report, AProgramThatSomebodyElseStopped) {
    const auto report = examined(job_of(1, {ended(Kind::stopped, 0, 5, {.signal = SIGTERM})}));
    EXPECT_EQ(report.status, 143);
    EXPECT_EQ(report.failed[0].how, How::stopped_by_others);
    EXPECT_THAT(
        report_text(report),
        StartsWith(
            "rank 0 on n1: the program was stopped (signal SIGTERM (15)), and not by dtrain-launch\n"));
}

TEST(Report, WhoeverIsSweptAwayAfterAFailureHasNotFailed) {
    const auto job =
        job_of(3, {ended(Kind::stopped, 2, 50, {.signal = SIGTERM}), ended(Kind::exited, 1, 100, {.code = 7}),
                   ended(Kind::stopped, 0, 150, {.signal = SIGTERM})});
    const auto report = examined(job);
    EXPECT_THAT(ranks_of(report.failed), ElementsAre(2, 1)) << "rank 2 was stopped before anybody had failed";
    EXPECT_THAT(ranks_of(report.stopped), ElementsAre(0));
    EXPECT_THAT(report_text(report), AllOf(HasSubstr("then stopped with the job by others: rank [0]\n"),
                                           HasSubstr("rank=[2,1] was aborted")));
}

constexpr const char* rank_0_left_4 =
    "--------------------------------------------------------------------------\n"
    "mpirun has exited due to process rank 0 with PID 0 on\n"
    "node vm exiting improperly. There are three reasons this could occur:\n";

TEST(Report, ARankThatLeavesWithoutMpisEndIsTheCause) {
    // Rank 2 was killed with its worker by mpirun, rank 1 stopped; by itself rank 0 is done.
    const auto job = job_of(3, {started(0, 4711, 5), ended(Kind::done, 0, 1'000'005),
                                ended(Kind::stopped, 1, 2'000'000, {.signal = SIGTERM})});
    const auto report =
        examined(job, {.engine_status = {.code = 1}, .engine_text = rank_0_left_4}, {{0, "last words\n"}});
    EXPECT_EQ(report.status, 1);
    EXPECT_EQ(
        report_text(report),
        "rank 0 on n1: the program ended with exit code 0\n"
        "  local rank 0, pid 4711, 1.0 s after its start\n"
        "  hint: it ended before MPI_Init or without MPI_Finalize, and mpirun ends the other ranks then: "
        "look for an exit or a return that other ranks do not come to\n"
        "  log: /tmp/log/workerlog.0\n"
        "---- last lines of workerlog.0 ----\n"
        "last words\n"
        "----\n"
        "then stopped with the job by others: rank [1]\n"
        "never told how they ended: rank [2]\n"
        "ABORT!!! Out of all 3 trainers, the trainer process with rank=[0] was aborted. Please check its "
        "log.\n");
    const auto failed = job_of(2, {ended(Kind::done, 0, 10), ended(Kind::exited, 1, 20, {.code = 7})});
    EXPECT_THAT(ranks_of(examined(failed, {.engine_text = rank_0_left_4}).failed), ElementsAre(1))
        << "who failed by itself is the cause";
}

TEST(Report, AProgramOfOnesOwnThatWaitedInVain) {
    const RankError late{.message = "allreduce number 1 waited 3.0 s for rank 0 (in no operation)",
                         .operation = RankError::Operation{"allreduce", 1, 3.0, {{0, "in no operation"}}}};
    const auto job =
        job_of(3, {started(0, 4711, 5), saying(late, ended(Kind::exited, 2, 3'000'000, {.code = 1}))});
    const auto report = examined(job);
    EXPECT_EQ(report.failed.front().error_message(), late.message);
    EXPECT_THAT(ranks_of(report.waited_for), ElementsAre(0));
    EXPECT_THAT(
        report_text(report),
        HasSubstr("\n  it waited for rank 0 on n1: local rank 0, pid 4711, log: /tmp/log/workerlog.0\n"));
}

TEST(Report, ARankThatFailsWhileItIsStoppedIsTold) {
    auto job = job_of(3, {ended(Kind::exited, 2, 100, {.code = 1})});
    job.stop_asked();
    job.take(ended(Kind::stopped, 0, 110, {.signal = SIGTERM}));
    job.take(ended(Kind::stopped, 1, 110, {.code = 1}));
    const auto report = examined(job, {}, {{1, "  File \"a.py\", line 1\n    f()\nOSError: broken\n"}});
    EXPECT_THAT(report_text(report),
                HasSubstr("then stopped by dtrain-launch: ranks [0,1]\n"
                          "  of them rank 1 on n1 ended with exit code 1; exception: OSError: broken\n"
                          "ABORT!!! Out of all 3 trainers, the trainer process with rank=[2] was aborted."));
}

TEST(Report, IssueBeforeTheProgramIsTold) {
    const auto missing = examined(job_of(
        1,
        {ended(Kind::issue, 0, 5, {.code = 127}, "cannot execute the program: No such file or directory")}));
    EXPECT_EQ(missing.status, 127);
    EXPECT_EQ(report_text(missing),
              "rank 0 on n1: cannot execute the program: No such file or directory\n"
              "  local rank 0\n"
              "  hint: a program, the interpreter of its #! line, or a shared library was not found\n"
              "  log: /tmp/log/workerlog.0\n"
              "ABORT!!! Out of all 1 trainers, the trainer process with rank=[0] was aborted. Please check "
              "its log.\n");
    const auto port = examined(job_of(2, {ended(Kind::port_taken, 1, 5, {.code = 2},
                                                "TCP port 6170 cannot be used: Address already in use")}));
    EXPECT_EQ(port.status, 2);
    EXPECT_EQ(port.cause()->rank, 1);
    EXPECT_THAT(report_text(port), StartsWith("rank 1 on n1: TCP port 6170 cannot be used"));
}

TEST(Report, RestartsAreTold) {
    const auto job = job_of(1, {ended(Kind::exited, 0, 5, {.code = 7})});
    EXPECT_THAT(report_text(examined(job, {.restarts = 1})),
                HasSubstr("\nthe job had been started again 1 time before\nABORT!!!"));
    EXPECT_THAT(report_text(examined(job, {.restarts = 3})), HasSubstr("again 3 times before\n"));
    EXPECT_THAT(report_text(examined(job)), Not(HasSubstr("started again")));
}

TEST(Report, AFailureIsNeverASuccess) {
    EXPECT_EQ(examined(job_of(1, {ended(Kind::issue, 0, 5, {}, "something")})).status, 1);
    EXPECT_EQ(examined(JobState(2)).status, 1) << "a job of which nothing is known has not succeeded";
}

TEST(Report, AVanishedWorkerIsTheOneThatMpirunNames) {
    // Rank 1's worker was killed; mpirun then stopped ranks 0 and 2, which could still tell.
    auto ranks = trainers(3);
    ranks[1].gpus = {"GPU-8932f937"};
    const auto job = job_of(3, {started(1, 4711, 5), ended(Kind::stopped, 0, 20, {.signal = SIGTERM}),
                                ended(Kind::stopped, 2, 21, {.signal = SIGTERM})});
    const Ending ending{.engine_status = {.code = 137},
                        .engine_text = rank_1_killed_4,
                        .machine = "n1",
                        .machine_info = "the kernel's OOM killer ended 1 process of memory cgroup /job"};
    const auto report = examined(job, ending, {{1, "step 3\n"}}, ranks);
    EXPECT_EQ(report.status, 137);
    EXPECT_THAT(ranks_of(report.failed), ElementsAre(1));
    EXPECT_EQ(
        report_text(report),
        "rank [1] ended without a word: dtrain-worker was killed, its node was lost, or it could not start; "
        "mpirun ended with exit code 137\n"
        "  rank 1 on n1: local rank 1, GPU GPU-8932f937, pid 4711\n"
        "  hint: the kernel's OOM killer ended 1 process of memory cgroup /job\n" +
            std::string(rank_1_killed_4) +
            "  log: /tmp/log/workerlog.1\n"
            "---- last lines of workerlog.1 ----\n"
            "step 3\n"
            "----\n"
            "then stopped with the job by others: ranks [0,2]\n"
            "ABORT!!! Out of all 3 trainers, the trainer process with rank=[1] was aborted. Please check its "
            "log.\n");
    auto elsewhere = ending;
    elsewhere.machine = "n2";
    EXPECT_THAT(examined(job, elsewhere).hints, IsEmpty()) << "n2 knows nothing of processes on n1";
}

TEST(Report, AHangIsTheReasonAlsoIfAProgramCannotBeEnded) {
    // Rank 1 waits for a file system, so that its worker was killed before it could tell.
    JobState job(2);
    job.take(started(0, 4710, 5));
    job.take(started(1, 4711, 5));
    job.stop_asked();
    job.take(ended(Kind::stopped, 0, 20, {.signal = SIGTERM}));
    const Ending ending{.engine_status = {.code = 1},
                        .engine_text = "mpirun: Forwarding signal 14 to job\n",
                        .stop_reason = "it hung: rank 1 on n1 waits for the system",
                        .stop_status = 124,
                        .hang = trace::HangDiagnosis{.culprits = {1}}};
    const auto report = examined(job, ending);
    EXPECT_EQ(report.status, 124);
    EXPECT_THAT(report_text(report),
                testing::StartsWith("dtrain-launch stopped the job: it hung: rank 1 on n1 waits"));
    EXPECT_THAT(report_text(report), HasSubstr("never told how they ended: rank [1]\n"));
}

TEST(Report, WhenMpirunNamesNobodyAllSilentRanksAreNamed) {
    const auto job = job_of(3, {started(1, 4711, 5), ended(Kind::stopped, 0, 20, {.signal = SIGTERM})});
    const auto report = examined(job, {.engine_status = {.signal = SIGKILL}});
    EXPECT_EQ(report.status, 137);
    EXPECT_EQ(
        report_text(report),
        "ranks [1,2] ended without a word: dtrain-worker was killed, its node was lost, or it could not "
        "start; "
        "mpirun ended with signal SIGKILL (9)\n"
        "  rank 1 on n1: local rank 1, pid 4711\n"
        "  rank 2 on planned: local rank 2, no program of it was seen\n"
        "  log: /tmp/log/workerlog.1\n"
        "then stopped with the job by others: rank [0]\n"
        "ABORT!!! Out of all 3 trainers, the trainer process with rank=[1,2] was aborted. Please check its "
        "log.\n");
}

TEST(Report, MpirunsWordDoesNotCountAgainstARankThatTold) {
    const auto job = job_of(2, {ended(Kind::stopped, 1, 20, {.signal = SIGTERM})});
    const auto report = examined(job, {.engine_status = {.code = 1}, .engine_text = rank_1_killed_4});
    EXPECT_THAT(ranks_of(report.failed), ElementsAre(0));
}

TEST(Report, MpirunCouldNotStartAnything) {
    const auto report =
        examined(JobState(2), {.engine_status = {.code = 1}, .engine_text = "There are not enough slots\n"});
    EXPECT_EQ(report.status, 1);
    EXPECT_THAT(report_text(report), AllOf(HasSubstr("nothing was started: mpirun could not start it"),
                                           HasSubstr("mpirun ended with exit code 1\n"),
                                           HasSubstr("\nThere are not enough slots\n")));
}

TEST(Report, AWorkerThatWasKilledBeforeItToldAnythingHadStarted) {
    const auto report =
        examined(JobState(2), {.engine_status = {.code = 137}, .engine_text = rank_1_killed_4});
    EXPECT_EQ(report.status, 137);
    EXPECT_THAT(report_text(report),
                AllOf(StartsWith("rank [1] ended without a word: dtrain-worker was killed, "),
                      Not(HasSubstr("nothing was started"))));
}

TEST(Report, ARealFailureComesBeforeAVanishedWorker) {
    const auto job = job_of(2, {ended(Kind::exited, 0, 20, {.code = 7})});
    const auto report = examined(job, {.engine_status = {.code = 137}, .engine_text = rank_1_killed_4});
    EXPECT_EQ(report.status, 7);
    EXPECT_THAT(ranks_of(report.failed), ElementsAre(0));
    EXPECT_THAT(ranks_of(report.silent), ElementsAre(1));
    EXPECT_THAT(report_text(report), HasSubstr("never told how they ended: rank [1]\n"));
}

TEST(Report, ASignalToTheLauncherIsNoFailureOfARank) {
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
        auto job = JobState(2);
        job.stop_asked();
        for (const int rank : {0, 1}) job.take(ended(Kind::stopped, rank, 20, {.signal = SIGTERM}));
        const auto report = examined(job, {.asked_to_stop_by = signal});
        EXPECT_EQ(report.outcome, FailureReport::Outcome::stopped);
        EXPECT_EQ(report.status, 128 + signal);
        EXPECT_EQ(report_text(report),
                  "stopped by " + signal_name(signal) + "; the programs of all 2 ranks have ended\n");
    }
    const auto twice = examined(JobState(2), {.asked_to_stop_by = SIGINT, .killed_at_once = true});
    EXPECT_EQ(twice.status, 130);
    EXPECT_EQ(report_text(twice),
              "stopped by SIGINT; the programs of all 2 ranks were killed at once after a second signal\n");
}

TEST(Report, ASignalAfterAFailureDoesNotHideTheFailure) {
    auto job = job_of(2, {ended(Kind::exited, 1, 20, {.code = 7})});
    job.stop_asked();
    job.take(ended(Kind::stopped, 0, 30, {.signal = SIGKILL}));
    const auto report = examined(job, {.asked_to_stop_by = SIGINT});
    EXPECT_EQ(report.status, 130);
    EXPECT_EQ(report_text(report),
              "stopped by SIGINT; the programs of all 2 ranks have ended\n"
              "rank 1 on n1: the program ended with exit code 7\n"
              "  local rank 1\n"
              "  log: /tmp/log/workerlog.1\n"
              "then stopped by dtrain-launch: rank [0]\n"
              "ABORT!!! Out of all 2 trainers, the trainer process with rank=[1] was aborted. Please check "
              "its log.\n");
    EXPECT_EQ(final_lines(report, report.stopped[0]),
              "dtrain: stopped by SIGKILL, as SIGTERM was not enough, after rank 1 failed on n1; see "
              "/tmp/log/workerlog.1");
}

TEST(Report, AllStoppedByUsAndNobodyFailed) {
    auto job = job_of(2, {ended(Kind::done, 0, 10)});
    job.stop_asked();
    job.take(ended(Kind::stopped, 1, 20, {.signal = SIGTERM}));
    const auto unexplained = examined(job);
    EXPECT_EQ(unexplained.status, 1);
    EXPECT_EQ(unexplained.cause(), nullptr);
    EXPECT_EQ(report_text(unexplained),
              "dtrain-launch stopped the job\nthen stopped by dtrain-launch: rank [1]\n");
    EXPECT_EQ(final_lines(unexplained, unexplained.stopped[0]), std::nullopt);
    const auto hung = examined(job, {.stop_reason = "no output for 60 s",
                                     .stop_details = {"rank 1 in recv ()", "rank 0 is done"},
                                     .stop_status = 124});
    EXPECT_EQ(hung.status, 124);
    EXPECT_EQ(report_text(hung),
              "dtrain-launch stopped the job: no output for 60 s\nrank 1 in recv ()\nrank 0 is done\n"
              "then stopped by dtrain-launch: rank [1]\n");
    EXPECT_EQ(final_lines(hung, hung.stopped[0]), "dtrain: stopped by SIGTERM: no output for 60 s");
}

TEST(Report, RolesOfAParameterServerJob) {
    const std::vector<RankInfo> ranks{
        {.role = "server", .number = 0, .log = "/log/serverlog.0"},
        {.role = "server", .number = 1, .log = "/log/serverlog.1"},
        {.role = "worker", .number = 0, .log = "/log/workerlog.0"},
        {.role = "worker", .number = 1, .local_rank = 3, .log = "/log/workerlog.1"},
        {.role = "heter_worker", .number = 0, .log = "/log/heterlog.0"}};
    auto job = job_of(5, {ended(Kind::exited, 3, 5, {.code = 7}), ended(Kind::exited, 1, 6, {.code = 8}),
                          ended(Kind::exited, 4, 7, {.code = 9})});
    job.stop_asked();
    for (const int rank : {0, 2}) job.take(ended(Kind::stopped, rank, 10, {.signal = SIGTERM}));
    const auto report = examined(job, {}, {{3, "oops\n"}}, ranks);
    EXPECT_EQ(
        report_text(report),
        "worker 1 (rank 3) on n1: the program ended with exit code 7\n"
        "  local rank 3\n"
        "  log: /log/workerlog.1\n"
        "---- last lines of workerlog.1 ----\n"
        "oops\n"
        "----\n"
        "failed too: server 1 (rank 1) on n1: the program ended with exit code 8\n"
        "failed too: heter_worker 0 (rank 4) on n1: the program ended with exit code 9\n"
        "then stopped by dtrain-launch: server [0], worker [0]\n"
        "ABORT!!! Out of all 2 servers, the server process with rank=[1] was aborted. Please check its log.\n"
        "ABORT!!! Out of all 2 workers, the worker process with rank=[1] was aborted. Please check its log.\n"
        "ABORT!!! Out of all 1 heter_workers, the heter_worker process with rank=[0] was aborted. Please "
        "check "
        "its log.\n");
    EXPECT_EQ(final_lines(report, report.stopped[0]),
              "dtrain: stopped by SIGTERM after worker 1 (rank 3) failed on n1; see /log/workerlog.1");
}

std::vector<RankInfo> two_servers_and_two_workers() {
    return {{.role = "server", .number = 0, .host = "n1", .log = "/log/serverlog.0"},
            {.role = "server", .number = 1, .host = "n1", .log = "/log/serverlog.1"},
            {.role = "worker", .number = 0, .host = "n1", .log = "/log/workerlog.0"},
            {.role = "worker", .number = 1, .host = "n1", .log = "/log/workerlog.1"}};
}

/// What ranks say themselves.
using Errors = std::map<int, RankError>;

Event saying_of(const Errors& errors, Event event) {
    const auto own = errors.find(event.rank);
    return own == errors.end() ? event : saying(own->second, std::move(event));
}

/// As a native job ends whose server 0 cannot save: every rank exits with 1, and server 1 is the first.
JobState ended_together(const Errors& errors = {}) {
    JobState job(4);
    job.take(saying_of(errors, ended(Kind::exited, 1, 5, {.code = 1})));
    job.stop_asked();
    for (const int rank : {0, 3}) job.take(saying_of(errors, ended(Kind::stopped, rank, 6, {.code = 1})));
    job.take(saying_of(errors, ended(Kind::stopped, 2, 7, {.signal = SIGTERM})));
    return job;
}

TEST(Report, AServerThatSaysWhyItFailedIsTheCauseOfWhatEndedTogether) {
    const auto full = of_server(0, "cannot write /full: No space left");
    const auto report = examined(ended_together({{0, full}, {2, for_all(full.message)}}), {},
                                 {{0, "dtrain: parameter server 0: cannot write /full: No space left\n"}},
                                 two_servers_and_two_workers());
    EXPECT_EQ(report.status, 1);
    EXPECT_EQ(report_text(report),
              "server 0 (rank 0) on n1: the program ended with exit code 1: parameter server 0: cannot write "
              "/full: No "
              "space left\n"
              "  local rank 0\n"
              "  log: /log/serverlog.0\n"
              "---- last lines of serverlog.0 ----\n"
              "dtrain: parameter server 0: cannot write /full: No space left\n"
              "----\n"
              "ended with it: server 1 (rank 1) on n1: the program ended with exit code 1\n"
              "then stopped by dtrain-launch: workers [0,1]\n"
              "  of them worker 1 (rank 3) on n1 ended with exit code 1\n"
              "ABORT!!! Out of all 2 servers, the server process with rank=[0] was aborted. Please check its "
              "log.\n");
    EXPECT_EQ(final_lines(report, report.failed[1]),
              "dtrain: ended with exit code 1 because server 0 (rank 0) failed on n1; see /log/serverlog.0");
    EXPECT_EQ(final_lines(report, report.failed[0]), std::nullopt);
    const auto json = nlohmann::json::parse(report_json(report));
    EXPECT_EQ(json["cause"]["error"], "parameter server 0: cannot write /full: No space left");
    EXPECT_EQ(json["cause"]["error_details"]["kind"], "dtrain::ps::ServerError");
    EXPECT_EQ(json["cause"]["error_details"]["server"], 0);
    EXPECT_EQ(json["failed"][1]["followed"], true);
    EXPECT_EQ(json["failed"][1]["error_details"], nullptr);
}

TEST(Report, WhatRankZeroSaysOfAnErrorThatAllThrewIsTheCause) {
    const auto report = examined(ended_together({{0, for_all("rows cannot be put on disk in /x (rank 0)")}}),
                                 {}, {}, two_servers_and_two_workers());
    ASSERT_NE(report.cause(), nullptr);
    EXPECT_EQ(report.cause()->rank, 0);
    EXPECT_EQ(report.cause()->error_message(), "rows cannot be put on disk in /x (rank 0)");
}

TEST(Report, AnErrorOfAnotherRankAloneDoesNotMakeItTheCause) {
    const auto report =
        examined(ended_together({{0, {.kind = "std::runtime_error", .message = "lost a peer"}}}), {}, {},
                 two_servers_and_two_workers());
    ASSERT_NE(report.cause(), nullptr);
    EXPECT_EQ(report.cause()->rank, 1);
    EXPECT_THAT(
        report_text(report),
        HasSubstr("  of them server 0 (rank 0) on n1 ended with exit code 1; error: lost a peer; log: "
                  "/log/serverlog.0\n"));
}

TEST(Report, WhoToldTheErrorOfAllIsTheCauseThoughItWasStoppedBeforeItHadExited) {
    auto job = job_of(4, {ended(Kind::exited, 1, 5, {.code = 2})});
    job.stop_asked();
    job.take(saying(for_all("not a directory"), ended(Kind::stopped, 0, 6, {.signal = SIGTERM})));
    job.take(ended(Kind::stopped, 2, 6, {.signal = SIGTERM}));
    job.take(ended(Kind::stopped, 3, 6, {.code = 2}));
    const auto report =
        examined(job, {}, {{0, "dtrain-native: not a directory\n"}}, two_servers_and_two_workers());
    EXPECT_EQ(report.status, 2);
    EXPECT_EQ(final_lines(report, report.failed[0]), std::nullopt);
    EXPECT_EQ(report_text(report),
              "server 0 (rank 0) on n1: the program was ending with its error when dtrain-launch stopped it "
              "(signal SIGTERM (15)): not a directory\n"
              "  local rank 0\n"
              "  log: /log/serverlog.0\n"
              "---- last lines of serverlog.0 ----\n"
              "dtrain-native: not a directory\n"
              "----\n"
              "ended with it: server 1 (rank 1) on n1: the program ended with exit code 2\n"
              "then stopped by dtrain-launch: workers [0,1]\n"
              "  of them worker 1 (rank 3) on n1 ended with exit code 2\n"
              "ABORT!!! Out of all 2 servers, the server process with rank=[0] was aborted. Please check its "
              "log.\n");
}

/// Both servers have told; a trainer that repeats what the first of them said is gone before them.
TEST(Report, AServerWhoseWordsTheFirstRankRepeatsIsTheCauseThoughItWasStoppedBeforeItHadExited) {
    const auto cause_with_message = [&](const std::string& message) {
        JobState job(4);
        job.take(saying(for_all(message), ended(Kind::exited, 2, 5, {.code = 1})));
        job.stop_asked();
        for (const int rank : {0, 1})
            job.take(saying(of_server(rank, "cannot write /full/" + std::to_string(rank) + ": No space left"),
                            ended(Kind::stopped, rank, 6, {.signal = SIGTERM})));
        job.take(ended(Kind::stopped, 3, 6, {.signal = SIGTERM}));
        const auto report = examined(job, {}, {}, two_servers_and_two_workers());
        EXPECT_EQ(report.status, 1);
        return std::pair(report.cause()->rank, report.cause()->error_message());
    };
    const std::string of_second = "parameter server 1: cannot write /full/1: No space left";
    EXPECT_EQ(cause_with_message(of_second), std::pair(1, of_second));
    EXPECT_EQ(cause_with_message("no such table"), std::pair(2, std::string("no such table")));
}

/// The first rank that has ended says nothing, and the server's end was not seen.
TEST(Report, AServerWhoseWordsAnotherRankRepeatsIsTheCause) {
    const std::string words = "cannot write /full: No space left";
    auto job =
        job_of(4, {ended(Kind::exited, 1, 4, {.code = 1}),
                   saying(for_all("parameter server 0: " + words), ended(Kind::exited, 2, 5, {.code = 1})),
                   ended(Kind::exited, 3, 6, {.code = 1})});
    job.stop_asked();
    job.take(
        saying(of_server(0, words), ended(Kind::stopped, 0, 7, {.signal = SIGKILL}, "the program vanished")));
    const auto report = examined(job, {}, {}, two_servers_and_two_workers());
    EXPECT_EQ(report.status, 1);
    EXPECT_EQ(report.cause()->rank, 0);
    EXPECT_EQ(report.cause()->error_message(), "parameter server 0: " + words);
    EXPECT_TRUE(report.cause()->reported);
}

TEST(Report, WhoeverHasAnErrorOfItsOwnStaysTheCause) {
    constexpr const char* python = "Traceback:\n  File \"a.py\", line 1\nValueError: words\n";
    const auto server = of_server(0, "waited in vain");
    const RankError recorded{.source = RankError::Source::torch, .message = "ValueError: words"};
    const auto cause_of = [](const JobState& job, const Logs& logs = {}) {
        return examined(job, {}, logs, two_servers_and_two_workers()).cause()->rank;
    };
    EXPECT_EQ(cause_of(ended_together({{0, server}}), {{1, python}}), 1);
    EXPECT_EQ(cause_of(ended_together({{0, server}, {1, recorded}})), 1);
    EXPECT_EQ(cause_of(ended_together({{1, for_all("a")}, {3, for_all("b")}})), 1);
    auto other_code = job_of(4, {ended(Kind::exited, 1, 5, {.code = 7})});
    other_code.stop_asked();
    other_code.take(saying(server, ended(Kind::stopped, 0, 6, {.code = 1})));
    for (const int rank : {2, 3}) other_code.take(ended(Kind::stopped, rank, 6, {.code = 1}));
    EXPECT_EQ(cause_of(other_code), 1);
}

TEST(Report, RanksThatTheCauseWaitedForInVainAreNamedWithNodeAndLog) {
    auto job = job_of(3, {started(1, 4711, 1), saying(timeout_of("allreduce", {{1, "stands still in it"}}),
                                                      ended(Kind::exited, 0, 5, {.code = 1}))});
    job.stop_asked();
    job.take(ended(Kind::stopped, 1, 6, {.signal = SIGKILL}));
    job.take(ended(Kind::stopped, 2, 6, {.signal = SIGTERM}));
    const auto report = examined(job);
    EXPECT_THAT(report_text(report),
                StartsWith("rank 0 on n1: the program ended with exit code 1, as it waited in vain "
                           "for rank 1 on n1\n"));
    EXPECT_THAT(report_text(report),
                HasSubstr("  error: allreduce number 7 waited 3.0 s for others\n"
                          "  it waited for rank 1 on n1: local rank 1, pid 4711, 0.0 s after its start, log: "
                          "/tmp/log/workerlog.1\n"));
    const auto json = nlohmann::json::parse(report_json(report));
    EXPECT_EQ(json["waited_for"][0]["rank"], 1);
    EXPECT_EQ(json["cause"]["error_details"]["operation"]["name"], "allreduce");
    EXPECT_EQ(json["cause"]["error_details"]["operation"]["number"], 7);
    EXPECT_EQ(json["cause"]["error_details"]["operation"]["missing"][0]["why"], "stands still in it");
}

TEST(Report, TheFirstLineNamesOneOfSeveralThatTheCauseWaitedFor) {
    const auto job = job_of(
        3, {saying(timeout_of("barrier", {{1, "x"}, {2, "y"}}), ended(Kind::exited, 0, 5, {.code = 1}))});
    EXPECT_THAT(report_text(examined(job)),
                StartsWith("rank 0 on n1: the program ended with exit code 1, as it waited in vain "
                           "for rank 1 on planned and 1 more\n"));
}

TEST(Report, ARankThatCameTooLateDoesNotWaitForItselfAndRanksThatThereAreNotAreLeftOut) {
    const auto job = job_of(2, {saying(timeout_of("barrier", {{0, "came too late"}, {7, "x"}, {-1, "y"}}),
                                       ended(Kind::exited, 0, 5, {.code = 1}))});
    EXPECT_THAT(examined(job).waited_for, IsEmpty());
}

TEST(Report, AnOperationThatSeveralRanksGaveUpIsToldOnce) {
    const auto late = timeout_of("allreduce", {{2, "did not answer"}});
    auto job = job_of(3, {saying(late, ended(Kind::exited, 0, 5, {.code = 1}))});
    job.stop_asked();
    auto again = late;
    again.message = "allreduce number 7 waited 3.1 s for others";
    job.take(saying(again, ended(Kind::stopped, 1, 6, {.code = 1})));
    job.take(ended(Kind::stopped, 2, 6, {.signal = SIGTERM}));
    const auto report = examined(job);
    EXPECT_THAT(report_text(report), HasSubstr("  of them rank 1 on n1 ended with exit code 1\n"));
    EXPECT_EQ(nlohmann::json::parse(report_json(report))["stopped"][0]["error"], again.message);
}

TEST(Report, WhatTorchsRecordKeptIsThePythonException) {
    const auto exception_when = [](const std::string& recorded, const std::string& log = "") {
        const auto job = job_of(1, {saying({.source = RankError::Source::torch, .message = recorded},
                                           ended(Kind::exited, 0, 5, {.code = 1}))});
        const auto report = examined(job, {}, {{0, log}});
        EXPECT_THAT(report_text(report), Not(HasSubstr("  error: ")));
        EXPECT_EQ(nlohmann::json::parse(report_json(report))["cause"]["error"], nullptr);
        return report.cause()->exception;
    };
    EXPECT_EQ(exception_when("ValueError: my own words"), "ValueError: my own words");
    EXPECT_EQ(exception_when("ValueError: a\nsecond line"), "ValueError: a");
    EXPECT_EQ(exception_when("ValueError: a", "  File \"a.py\", line 1\nKeyError: earlier\n"),
              "ValueError: a");
    EXPECT_EQ(
        exception_when("RuntimeError: Caught OSError in DataLoader worker process 0.\n"
                       "Original Traceback (most recent call last):\n  File \"fetch.py\", line 2, in fetch\n"
                       "    read()\nOSError: [Errno 5] Input/output error\n"),
        "OSError: [Errno 5] Input/output error");
}

TEST(Report, DtrainsSentencesInALogAreNotParsed) {
    const auto report =
        examined(ended_together(), {},
                 {{0, "dtrain: parameter server 0: cannot write /full: No space left\n"},
                  {1, "dtrain-native: allreduce number 7 waited 3.0 s for rank 2 (did not answer)\n"}},
                 two_servers_and_two_workers());
    EXPECT_EQ(report.cause()->rank, 1);
    EXPECT_EQ(report.cause()->error, nullptr);
    EXPECT_THAT(report.waited_for, IsEmpty());
}

TEST(Report, ALibraryThatIsMissingIsNamed) {
    const auto job = job_of(1, {ended(Kind::exited, 0, 5, {.code = 127})});
    const auto report = examined(
        job, {}, {{0, "a: error while loading shared libraries: libb.so: cannot open shared object file\n"}});
    EXPECT_THAT(
        report_text(report),
        HasSubstr(": error while loading shared libraries: libb.so: cannot open shared object file\n"));
}

TEST(Report, AServersWordIsShownWhenATrainerDiedOfIt) {
    auto job = job_of(4, {ended(Kind::exited, 2, 5, {.signal = SIGABRT})});
    job.stop_asked();
    job.take(saying(of_server(1, "disk full"), ended(Kind::stopped, 1, 6, {.signal = SIGTERM})));
    for (const int rank : {0, 3}) job.take(ended(Kind::stopped, rank, 6, {.signal = SIGTERM}));
    const auto text = report_text(examined(job, {}, {}, two_servers_and_two_workers()));
    EXPECT_THAT(text, StartsWith("worker 0 (rank 2) on n1: "));
    EXPECT_THAT(text, HasSubstr("then stopped by dtrain-launch: servers [0,1], worker [1]\n"
                                "  of them server 1 (rank 1) on n1 ended with signal SIGTERM (15); error: "
                                "parameter server 1: disk full; log: /log/serverlog.1\n"));
}

TEST(FinalLine, OnlyForRanksThatWeStopped) {
    auto job = job_of(3, {ended(Kind::exited, 2, 5, {.code = 7})});
    job.take(ended(Kind::stopped, 1, 6, {.signal = SIGTERM}));
    job.stop_asked();
    job.take(ended(Kind::stopped, 0, 7, {.signal = SIGTERM}));
    const auto report = examined(job);
    std::map<int, std::optional<std::string>> words;
    for (const auto& rank : report.stopped) words[rank.rank] = final_lines(report, rank);
    EXPECT_EQ(words[0], "dtrain: stopped by SIGTERM after rank 2 failed on n1; see /tmp/log/workerlog.2");
    EXPECT_EQ(words[1], std::nullopt);
    EXPECT_EQ(final_lines(report, report.failed[0]), std::nullopt);
}

TEST(FinalLine, NothingIsSaidOfAnEndThatNobodySaw) {
    auto job = job_of(2, {ended(Kind::exited, 1, 5, {.code = 7})});
    job.stop_asked();
    job.take(ended(Kind::stopped, 0, 7, {.signal = SIGKILL}, "its guard process was killed"));
    const auto report = examined(job);
    EXPECT_EQ(final_lines(report, report.stopped[0]),
              "dtrain: stopped after rank 1 failed on n1; see /tmp/log/workerlog.1");
}

TEST(FinalLine, TheLogOfAnotherHostIsThere) {
    auto job = job_of(2, {});
    auto failure = ended(Kind::exited, 1, 5, {.code = 7});
    failure.host = "node2";
    job.take(failure);
    job.stop_asked();
    job.take(ended(Kind::stopped, 0, 7, {.signal = SIGTERM}));
    const auto report = examined(job);
    EXPECT_EQ(final_lines(report, report.stopped[0]),
              "dtrain: stopped by SIGTERM after rank 1 failed on node2; see workerlog.1 there");
}

TEST(FinalLine, AfterASignalToTheLauncher) {
    auto job = JobState(2);
    job.stop_asked();
    job.take(ended(Kind::stopped, 0, 7, {.signal = SIGTERM}));
    job.take(ended(Kind::stopped, 1, 7, {.code = 3}));
    const auto report = examined(job, {.asked_to_stop_by = SIGINT});
    EXPECT_EQ(final_lines(report, report.stopped[0]),
              "dtrain: stopped by SIGTERM because dtrain-launch got SIGINT");
    EXPECT_EQ(final_lines(report, report.stopped[1]),
              "dtrain: ended with exit code 3 when stopped by SIGTERM because dtrain-launch got SIGINT");
}

TEST(Redacted, NoSecretIsLeftAnywhere) {
    auto job = job_of(2, {saying({.message = "hf_xyz123 is refused",
                                  .operation = RankError::Operation{"allreduce", 1, 1.0, {{0, "hf_xyz123"}}}},
                                 ended(Kind::exited, 1, 5, {.code = 1}, "hf_xyz123 was killed"))});
    job.stop_asked();
    job.take(ended(Kind::stopped, 0, 6, {.code = 1}));
    const std::string log =
        "api_key=abc\n  File \"a.py\", line 1\n    f()\nValueError: hf_xyz123 is no key\n";
    const KnownSecrets secrets(Environment{{"HF_TOKEN", "hf_xyz123"}}, {});
    const auto report = redacted(
        examined(
            job,
            {.engine_text = "hf_xyz123\n",
             .stop_reason = "hf_xyz123",
             .stop_details = {"hf_xyz123"},
             .hang = trace::HangDiagnosis{.culprit = "hf_xyz123", .waiting = {"hf_xyz123"}},
             .reported_hangs =
                 {{.text = "hf_xyz123", .diagnosis = {.culprit = "hf_xyz123"}, .time_us = 0, .seconds = {}}}},
            {{0, log}, {1, log}}),
        secrets);
    for (const auto& shown : {report_text(report), report_json(report)})
        EXPECT_THAT(shown, AllOf(Not(HasSubstr("hf_xyz123")), Not(HasSubstr("abc")),
                                 HasSubstr("ValueError: *** is no key"), HasSubstr("api_key=***")));
}

TEST(Json, NamesTheCulpritOfAHang) {
    Ending ending{.stop_reason = "it hung", .stop_status = 124};
    ending.hang = trace::HangDiagnosis{.cause = trace::HangDiagnosis::Cause::has_ended,
                                       .culprits = {1, 2},
                                       .culprit = "ranks [1,2]",
                                       .waiting = {"rank 0 waits"}};
    const auto json = nlohmann::json::parse(report_json(examined(job_of(3, {}), ending, {}, trainers(3))));
    EXPECT_EQ(json.at("hang"), (nlohmann::json{{"cause", "has_ended"},
                                               {"culprits", {1, 2}},
                                               {"culprit", "ranks [1,2]"},
                                               {"waiting", {"rank 0 waits"}}}));
}

TEST(Json, HasHangsForWhichTheJobWasNotStopped) {
    Ending ending;
    const trace::HangDiagnosis diagnosis{.cause = trace::HangDiagnosis::Cause::absent,
                                         .culprits = {2},
                                         .culprit = "rank 2",
                                         .waiting = {"ranks [0,1] wait"}};
    ending.reported_hangs = {
        {.text = "it hangs", .diagnosis = diagnosis, .time_us = 2'500'000, .seconds = 1.5},
        {.text = "again", .diagnosis = {}, .time_us = 9'000'000, .seconds = {}}};
    const auto json = nlohmann::json::parse(
        report_json(examined(job_of(1, {ended(Kind::done, 0, 10)}), ending, {}, trainers(1))));
    EXPECT_EQ(json.at("outcome"), "done");
    EXPECT_EQ(json.at("reported_hangs"),
              nlohmann::json::parse(R"([{"time": 2.5, "seconds": 1.5, "text": "it hangs", "cause": "absent",
                                         "culprits": [2], "culprit": "rank 2", "waiting": ["ranks [0,1] wait"]},
                                        {"time": 9.0, "seconds": null, "text": "again", "cause": "unknown",
                                         "culprits": [], "culprit": "", "waiting": []}])"));
}

TEST(Json, SaysTheSameForPrograms) {
    auto job = job_of(
        3, {started(1, 4711, 1'000'000), ended(Kind::exited, 1, 3'500'000, {.signal = SIGKILL}, "oom")});
    job.stop_asked();
    job.take(ended(Kind::stopped, 0, 3'600'000, {.code = 1}));
    auto ranks = trainers(3);
    ranks[1].gpus = {"4"};
    const Ending ending{
        .engine_status = {.signal = SIGTERM}, .engine_text = "bad \xff byte\n", .restarts = 2};
    const auto json = nlohmann::json::parse(report_json(examined(job, ending, {{1, "a\n\nb\n"}}, ranks)));
    const auto rank = [](int number, const char* host, const char* how) {
        return nlohmann::json{{"rank", number},       {"role", "trainer"},
                              {"number", number},     {"host", host},
                              {"local_rank", number}, {"gpus", nlohmann::json::array()},
                              {"how", how},           {"exit_code", nullptr},
                              {"signal", nullptr},    {"pid", nullptr},
                              {"seconds", nullptr},   {"log", "/tmp/log/workerlog." + std::to_string(number)},
                              {"detail", ""},         {"exception", nullptr},
                              {"error", nullptr},     {"error_details", nullptr},
                              {"followed", false},    {"consequence", false}};
    };
    auto failed = rank(1, "n1", "exited");
    failed.update(
        {{"gpus", {"4"}}, {"signal", "SIGKILL"}, {"pid", 4711}, {"seconds", 2.5}, {"detail", "oom"}});
    auto cause = failed;
    cause["last_lines"] = {"a", "", "b"};
    cause["hints"] = {"killed from outside: look for the OOM killer, a scheduler's limit, or a person",
                      "oom"};
    auto stopped = rank(0, "n1", "stopped_by_dtrain");
    stopped["exit_code"] = 1;
    const nlohmann::json expected{
        {"outcome", "failed"},
        {"status", 137},
        {"ranks", {{"trainer", 3}}},
        {"restarts", 2},
        {"stopped_by", nullptr},
        {"stop_reason", nullptr},
        {"stop_details", nlohmann::json::array()},
        {"hang", nullptr},
        {"reported_hangs", nlohmann::json::array()},
        {"lost_node", nullptr},
        {"not_started", nullptr},
        {"cause", cause},
        {"failed", nlohmann::json::array({failed})},
        {"stopped", nlohmann::json::array({stopped})},
        {"silent", nlohmann::json::array({rank(2, "planned", "vanished")})},
        {"waited_for", nlohmann::json::array()},
        {"mpirun", {{"exit_code", nullptr}, {"signal", "SIGTERM"}, {"text", "bad \xEF\xBF\xBD byte\n"}}},
    };
    EXPECT_EQ(json, expected) << nlohmann::json::diff(json, expected).dump(2);
}

TEST(Json, OfSuccessAndOfASignal) {
    const auto done = nlohmann::json::parse(report_json(examined(job_of(1, {ended(Kind::done, 0, 10)}))));
    EXPECT_EQ(done["outcome"], "done");
    EXPECT_EQ(done["status"], 0);
    EXPECT_TRUE(done["cause"].is_null());
    const auto stopped =
        nlohmann::json::parse(report_json(examined(JobState(1), {.asked_to_stop_by = SIGINT})));
    EXPECT_EQ(stopped["outcome"], "stopped");
    EXPECT_EQ(stopped["stopped_by"], "SIGINT");
    EXPECT_EQ(stopped["status"], 130);
}

TEST(Report, ALostNodeIsNamedWithItsRanks) {
    auto ranks = trainers(4);
    for (std::size_t rank = 0; rank < 4; ++rank) {
        ranks[rank].node = rank < 2 ? "10.0.0.1" : "10.0.0.2";
        ranks[rank].is_local = rank < 2;
    }
    const auto job = job_of(4, {started(0, 10, 5), started(1, 11, 5), started(2, 12, 5), started(3, 13, 5),
                                ended(Kind::stopped, 0, 20, {.signal = SIGTERM})});
    const std::string lost =
        "ORTE has lost communication with a remote daemon.\n  Remote daemon: [[1,0],1] on node 10.0.0.2\n";
    for (const auto& ending : {Ending{.engine_status = {.code = 205}, .engine_text = lost},
                               Ending{.engine_status = {.code = 205}, .lost_node = "10.0.0.2"}}) {
        const auto report = examine(job, ending, ranks, [](int) { return std::string(); });
        EXPECT_EQ(report.status, 205);
        EXPECT_THAT(ranks_of(report.failed), ElementsAre(2, 3));
        EXPECT_THAT(ranks_of(report.silent), ElementsAre(1));
        EXPECT_THAT(report_text(report), AllOf(StartsWith("node 10.0.0.2 was lost with ranks [2,3]: "),
                                               HasSubstr("workerlog.2 on n1\n"),
                                               HasSubstr("never told how they ended: rank [1]\n")));
        EXPECT_EQ(nlohmann::json::parse(report_json(report))["lost_node"], "10.0.0.2");
    }
}

TEST(Report, ALostNodeExplainsMoreThanTheTasksThatSlurmKilledBecauseOfIt) {
    auto ranks = trainers(2);
    ranks[0].node = "node1";
    ranks[1].node = "node2";
    const auto job = job_of(2, {started(0, 10, 5), started(1, 11, 5)});
    const std::string killed = "srun: error: node1: task 0: Killed\n";
    for (const auto& ending :
         {Ending{.engine = "srun", .engine_text = killed, .lost_node = "node2"},
          Ending{.engine = "srun", .engine_text = "srun: error: Node failure on node2\n" + killed}}) {
        const auto report = examine(job, ending, ranks, [](int) { return std::string(); });
        EXPECT_THAT(report_text(report), StartsWith("node node2 was lost with rank [1]: "));
    }
}

TEST(Report, ALostNodeIsTheCauseAlsoWhereItsRanksStillToldThatTheyWereStopped) {
    auto ranks = trainers(2);
    ranks[0].node = "node1";
    ranks[1].node = "node2";
    const auto stopped = [](int rank) { return ended(Kind::stopped, rank, 20, {.signal = SIGTERM}); };
    const auto job = job_of(2, {started(0, 10, 5), started(1, 11, 5), stopped(1), stopped(0)});
    const auto report = examine(
        job,
        {.engine = "srun",
         .engine_text = "srun: error: Node failure on node2\n"
                        "slurmstepd-node1: error: *** STEP 20.0 ON node1 CANCELLED AT "
                        "2026-11-28T11:59:24 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***\n"},
        ranks, [](int) { return std::string(); });
    EXPECT_THAT(report_text(report), StartsWith("node node2 was lost with rank [1]: "));
    ASSERT_EQ(report.stopped.size(), 1U);
    EXPECT_EQ(report.stopped.front().rank, 0);
}

TEST(Report, WhatIsKnownOfALostNodeIsNotMixedWithMpirunsGuesses) {
    const auto job = job_of(2, {started(0, 10, 5), started(1, 11, 5)});
    auto ranks = trainers(2);
    ranks[1].node = "n2";
    const auto report = examine(job,
                                {.engine_text = "ORTE was unable to reliably start one or more daemons.\n",
                                 .lost_node = "n2",
                                 .lost_because = "its launcher: it ended"},
                                ranks, [](int) { return std::string(); });
    EXPECT_THAT(report_text(report),
                AllOf(StartsWith("node n2 was lost with rank [1]: its launcher: it ended; mpirun "),
                      Not(HasSubstr("ORTE"))));
    EXPECT_THAT(report_json(report), HasSubstr("ORTE"));
}

TEST(Report, WhatASchedulerEndedIsItsDoing) {
    const std::string cancelled =
        "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-25T14:28:55 DUE TO TIME LIMIT ***\n";
    const auto stopped = [](int rank) { return ended(Kind::stopped, rank, 20, {.signal = SIGTERM}); };
    const auto report =
        examined(job_of(2, {stopped(0), stopped(1)}), {.engine = "srun", .engine_text = cancelled});
    EXPECT_THAT(report_text(report),
                StartsWith("Slurm cancelled the job at 2026-11-25T14:28:55: time limit\n"
                           "rank 0 on n1: the program was stopped (signal SIGTERM (15)), and not by "
                           "dtrain-launch\n"));
    const auto failed = examined(job_of(2, {ended(Kind::exited, 1, 10, {.code = 3}), stopped(0)}),
                                 {.engine = "srun", .engine_text = cancelled});
    EXPECT_THAT(report_text(failed), StartsWith("rank 1 on n1: the program ended with exit code 3\n"));
}

TEST(Report, ALostNodeMayBeNamedAsItCallsItself) {
    auto ranks = trainers(2);
    ranks[0].node = "10.0.0.1";
    ranks[1].node = "10.0.0.2";
    for (const char* host : {"node2", "node2.cluster"}) {
        auto of_second = started(1, 11, 5);
        of_second.host = host;
        const auto job = job_of(2, {started(0, 10, 5), of_second});
        const auto report =
            examine(job,
                    {.engine_text = "PRTE has lost communication with a remote daemon.\n  Remote daemon: "
                                    "[prterun-node1-89@0,1] on node node2\n"},
                    ranks, [](int) { return std::string(); });
        EXPECT_THAT(report_text(report), StartsWith("node 10.0.0.2 was lost with rank [1]: "));
    }
}

TEST(Report, ANodeThatCannotBeReachedIsNoListOfDeadRanks) {
    const auto report =
        examined(JobState(2), {.engine_status = {.code = 255},
                               .engine_text = "ssh: connect to host b port 22: No route to host\n"});
    EXPECT_EQ(report.status, 255);
    EXPECT_THAT(
        report_text(report),
        AllOf(StartsWith("nothing was started: ssh: connect to host b port 22: No route to host; mpirun "
                         "ended with exit code 255\n"),
              Not(HasSubstr("rank 0 on")), Not(HasSubstr("log:"))));
}

}  // namespace
}  // namespace dtrain::launch
