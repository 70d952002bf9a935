// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: Paddle's ABORT line, the shell's exit statuses, and messages of Open MPI 4.1 and 5.0 copied from
// runs.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/report.hpp"

namespace dtrain::launch {
namespace {

using cluster::Event;
using Kind = Event::Kind;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

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

TEST(Judge, SuccessSaysNothing) {
    const auto job = job_of(2, {ended(Kind::done, 0, 10), ended(Kind::done, 1, 11)});
    const auto verdict = judge(job, {.log_dir = "log"});
    EXPECT_EQ(verdict.status, 0);
    EXPECT_EQ(verdict.text, "");
    EXPECT_EQ(culprit(job, {}), std::nullopt);
}

TEST(Judge, AnExitCodeIsTheJobs) {
    auto job = job_of(3, {started(1, 4711, 1'000'000), ended(Kind::exited, 1, 3'450'000, {.code = 7})});
    job.stop_asked();
    job.take(ended(Kind::stopped, 0, 3'500'000, {.signal = SIGTERM}));
    job.take(ended(Kind::stopped, 2, 3'600'000, {.signal = SIGTERM}));
    const Ending ending{.mpirun = {}, .log_dir = "/tmp/log", .log_tail = "Traceback\nValueError: x\n"};
    const auto verdict = judge(job, ending);
    EXPECT_EQ(verdict.status, 7);
    EXPECT_EQ(culprit(job, ending), 1);
    EXPECT_EQ(verdict.text,
              "rank 1 on n1: the program ended with exit code 7 (pid 4711, 2.5 s after its start)\n"
              "log: /tmp/log/workerlog.1\n"
              "---- last lines of workerlog.1 ----\n"
              "Traceback\n"
              "ValueError: x\n"
              "----\n"
              "then stopped by dtrain-launch: ranks [0,2]\n"
              "ABORT!!! Out of all 3 trainers, the trainer process with rank=[1] was aborted. Please check "
              "its log.\n");
}

TEST(Judge, ASignalIs128AndItsNumber) {
    auto job = job_of(2, {ended(Kind::exited, 0, 5, {.signal = SIGSEGV})});
    job.stop_asked();
    job.take(ended(Kind::stopped, 1, 6, {.signal = SIGTERM}));
    const auto verdict = judge(job, {.log_dir = "log"});
    EXPECT_EQ(verdict.status, 128 + SIGSEGV);
    EXPECT_EQ(verdict.text,
              "rank 0 on n1: the program ended with signal SIGSEGV (11)\n"
              "log: log/workerlog.0\n"
              "then stopped by dtrain-launch: rank [1]\n"
              "ABORT!!! Out of all 2 trainers, the trainer process with rank=[0] was aborted. Please check "
              "its log.\n");
}

TEST(Judge, TheFirstByTheClockDecidesAndAllFailedAreNamed) {
    const auto job = job_of(3, {ended(Kind::exited, 0, 300, {.code = 3}),
                                ended(Kind::exited, 2, 100, {.code = 9}), ended(Kind::done, 1, 50)});
    const auto verdict = judge(job, {.log_dir = "log"});
    EXPECT_EQ(verdict.status, 9);
    EXPECT_EQ(culprit(job, {}), 2);
    EXPECT_THAT(verdict.text, AllOf(HasSubstr("rank 2 on n1: the program ended with exit code 9"),
                                    HasSubstr("workerlog.2"), HasSubstr("with rank=[2,0] was aborted")));
}

TEST(Judge, AProgramThatSomebodyElseStopped) {
    const auto job = job_of(1, {ended(Kind::stopped, 0, 5, {.signal = SIGTERM})});
    const auto verdict = judge(job, {.log_dir = "log"});
    EXPECT_EQ(verdict.status, 143);
    EXPECT_THAT(verdict.text, HasSubstr("stopped (signal SIGTERM (15)), and not by dtrain-launch"));
}

TEST(Judge, TroubleBeforeTheProgramIsTold) {
    const auto missing = job_of(1, {ended(Kind::trouble, 0, 5, {.code = 127},
                                          "cannot execute the program: No such file or directory")});
    EXPECT_EQ(judge(missing, {.log_dir = "log"}).status, 127);
    EXPECT_THAT(judge(missing, {.log_dir = "log"}).text,
                testing::StartsWith("rank 0 on n1: cannot execute the program: No such file or directory\n"));
    const auto port = job_of(2, {ended(Kind::port_taken, 1, 5, {.code = 2},
                                       "TCP port 6170 cannot be used: Address already in use")});
    EXPECT_EQ(judge(port, {.log_dir = "log"}).status, 2);
    EXPECT_EQ(culprit(port, {}), 1);
    EXPECT_THAT(judge(port, {.log_dir = "log"}).text, HasSubstr("TCP port 6170 cannot be used"));
}

TEST(Judge, AFailureIsNeverASuccess) {
    const auto job = job_of(1, {ended(Kind::trouble, 0, 5, {}, "something")});
    EXPECT_EQ(judge(job, {.log_dir = "log"}).status, 1);
}

TEST(Judge, AVanishedWorkerIsTheOneThatMpirunNames) {
    // Rank 1's worker was killed; mpirun then stopped ranks 0 and 2, which could still tell.
    const auto job = job_of(3, {ended(Kind::stopped, 0, 20, {.signal = SIGTERM}),
                                ended(Kind::stopped, 2, 21, {.signal = SIGTERM})});
    const Ending ending{.mpirun = {.code = 137}, .mpirun_text = rank_1_killed_4, .log_dir = "log"};
    EXPECT_EQ(culprit(job, ending), 1);
    const auto verdict = judge(job, ending);
    EXPECT_EQ(verdict.status, 137);
    EXPECT_EQ(verdict.text,
              "rank [1] ended without a word: dtrain-worker was killed or could not start; mpirun ended with "
              "exit code 137\n" +
                  std::string(rank_1_killed_4) +
                  "log: log/workerlog.1\n"
                  "ABORT!!! Out of all 3 trainers, the trainer process with rank=[1] was aborted. Please "
                  "check its log.\n");
}

TEST(Judge, WhenMpirunNamesNobodyAllSilentRanksAreNamed) {
    const auto job = job_of(3, {ended(Kind::stopped, 0, 20, {.signal = SIGTERM})});
    const Ending ending{.mpirun = {.signal = SIGKILL}, .log_dir = "log"};
    EXPECT_EQ(culprit(job, ending), 1);
    const auto verdict = judge(job, ending);
    EXPECT_EQ(verdict.status, 137);
    EXPECT_THAT(verdict.text, AllOf(HasSubstr("ranks [1,2] ended without a word"),
                                    HasSubstr("mpirun ended with signal SIGKILL (9)"),
                                    HasSubstr("rank=[1,2] was aborted")));
}

TEST(Judge, MpirunsWordDoesNotCountAgainstARankThatTold) {
    const auto job = job_of(2, {ended(Kind::stopped, 1, 20, {.signal = SIGTERM})});
    const Ending ending{.mpirun = {.code = 1}, .mpirun_text = rank_1_killed_4, .log_dir = "log"};
    EXPECT_EQ(culprit(job, ending), 0);
    EXPECT_THAT(judge(job, ending).text, HasSubstr("rank=[0] was aborted"));
}

TEST(Judge, MpirunCouldNotStartAnything) {
    const Ending ending{
        .mpirun = {.code = 1}, .mpirun_text = "There are not enough slots\n", .log_dir = "log"};
    const auto verdict = judge(JobState(2), ending);
    EXPECT_EQ(verdict.status, 1);
    EXPECT_THAT(verdict.text, AllOf(HasSubstr("ranks [0,1] ended without a word"),
                                    HasSubstr("There are not enough slots\n")));
    EXPECT_EQ(judge(JobState(1), {.mpirun = {.code = 0}, .log_dir = "log"}).status, 1)
        << "a job of which nothing is known has not succeeded";
}

TEST(Judge, ARealFailureComesBeforeAVanishedWorker) {
    const auto job = job_of(2, {ended(Kind::exited, 0, 20, {.code = 7})});
    const Ending ending{.mpirun = {.code = 137}, .mpirun_text = rank_1_killed_4, .log_dir = "log"};
    EXPECT_EQ(culprit(job, ending), 0);
    EXPECT_EQ(judge(job, ending).status, 7);
}

TEST(Judge, ASignalToTheLauncherIsNoFailureOfARank) {
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
        auto job = JobState(2);
        job.stop_asked();
        for (const int rank : {0, 1}) job.take(ended(Kind::stopped, rank, 20, {.signal = SIGTERM}));
        const auto verdict = judge(job, {.asked_to_stop_by = signal, .log_dir = "log"});
        EXPECT_EQ(verdict.status, 128 + signal);
        EXPECT_EQ(verdict.text,
                  "stopped by " + signal_name(signal) + "; the programs of all 2 ranks have ended\n");
    }
    EXPECT_EQ(judge(JobState(2), {.asked_to_stop_by = SIGINT}).status, 130);
}

TEST(RankNamedByMpirun, OfOpenMpi4And5) {
    EXPECT_EQ(rank_named_by_mpirun(rank_1_killed_4), 1);
    EXPECT_EQ(rank_named_by_mpirun("prterun noticed that process rank 12 with PID 1234 on node n7 exited on\n"
                                   "signal 9 (Killed).\n"),
              12);
}

TEST(RankNamedByMpirun, NobodyOtherwise) {
    for (const char* text : {"", "process rank ", "process rank", "process rank x with", "process rank \n",
                             "There are not enough slots available"})
        EXPECT_EQ(rank_named_by_mpirun(text), std::nullopt) << text;
}

TEST(LastLines, OfALog) {
    EXPECT_EQ(last_lines("a\nb\nc\n", 2), "b\nc\n");
    EXPECT_EQ(last_lines("a\nb\nc", 2), "b\nc\n");
    EXPECT_EQ(last_lines("a\nb\nc\n\n \n\n", 1), "c\n");
    EXPECT_EQ(last_lines("a\nb\n", 2), "a\nb\n");
    EXPECT_EQ(last_lines("a\nb\n", 20), "a\nb\n");
    EXPECT_EQ(last_lines("one", 1), "one\n");
    EXPECT_EQ(last_lines("a\n    indented\n", 1), "    indented\n");
    EXPECT_EQ(last_lines("a\n\nb\n", 2), "\nb\n");
}

TEST(LastLines, OfNothing) {
    for (const char* log : {"", "\n", " \n\t\n"}) EXPECT_EQ(last_lines(log, 5), "");
    EXPECT_EQ(last_lines("a\nb\n", 0), "");
}

}  // namespace
}  // namespace dtrain::launch
