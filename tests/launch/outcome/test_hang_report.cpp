// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what a person would want to read, written out by hand, in a time zone of the test's choice.
#include <cstdlib>
#include <ctime>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/outcome/hang_report.hpp"

namespace dtrain::launch {
namespace {

using cluster::Event;
using testing::ElementsAre;

class HangReport : public testing::Test {
  protected:
    void SetUp() override {
        ::setenv("TZ", "UTC0", 1);
        ::tzset();
    }
    void TearDown() override {
        ::unsetenv("TZ");
        ::tzset();
    }

    static constexpr std::int64_t noon_us = 1'700'049'600'000'000;  // 2023-11-15 12:00:00 UTC

    static Event idle(int rank, std::int64_t since_s, std::int64_t reported_s, const std::string& where) {
        return {.kind = Event::Kind::idle,
                .rank = rank,
                .time_us = noon_us + reported_s * 1'000'000,
                .idle_ms = 1000 * (reported_s - since_s),
                .text = where};
    }
    static std::string stacks_of(int rank) { return "/log/workerlog." + std::to_string(rank) + ".stacks"; }
};

TEST_F(HangReport, OneRank) {
    const std::vector<Event> hung{idle(3, 5, 35, "recv ()")};
    EXPECT_EQ(hang_reason(hung, {}),
              "it hung: no rank that was left printed anything or used the processor for 30.0 s");
    EXPECT_THAT(hang_locations(hung, stacks_of),
                ElementsAre("rank [3]: since 12:00:05 in recv (); stacks: /log/workerlog.3.stacks"));
}

TEST_F(HangReport, TheOneThatIsElsewhereStandsOut) {
    const std::vector<Event> hung{idle(0, 9, 40, "allreduce ()"), idle(1, 7, 41, "allreduce ()"),
                                  idle(2, 4, 42, "load (data.py:31)"), idle(3, 8, 39, "allreduce ()")};
    EXPECT_EQ(hang_reason(hung, {}),
              "it hung: no rank that was left printed anything or used the processor for 31.0 s");
    EXPECT_THAT(hang_locations(hung, stacks_of),
                ElementsAre("rank [2]: since 12:00:04 in load (data.py:31); stacks: /log/workerlog.2.stacks",
                            "ranks [0,1,3]: since 12:00:07 in allreduce (); stacks: /log/workerlog.0.stacks "
                            "and so on"));
}

TEST_F(HangReport, TheCulpritComesFirst) {
    const std::vector<Event> hung{idle(0, 9, 40, "allreduce ()"), idle(1, 7, 41, "load ()")};
    const trace::HangDiagnosis diagnosis{.cause = trace::HangDiagnosis::Cause::absent,
                                         .culprits = {1},
                                         .culprit = "rank 1 on node1 has not called it",
                                         .waiting = {"rank 0 waits in allreduce"}};
    EXPECT_EQ(hang_reason(hung, diagnosis),
              "it hung: rank 1 on node1 has not called it; rank 0 waits in allreduce");
}

TEST_F(HangReport, BusyWaitsAreNotCalledIdle) {
    auto busy = idle(0, 5, 35, "poll ()");
    busy.code = static_cast<int>(cluster::Inactivity::waits);
    EXPECT_EQ(hang_sign({busy, idle(1, 5, 35, "load ()")}),
              "no rank that was left printed anything or ended an operation for 30.0 s");
}

TEST_F(HangReport, IsDiagnosedFromWhatTheRanksSent) {
    // Rank 1 waits, rank 0 has not come, rank 2 had ended before.
    JobState job(3);
    for (const int rank : {0, 1, 2})
        job.take({.kind = Event::Kind::started, .rank = rank, .host = "n" + std::to_string(rank)});
    const trace::Operation barrier{.group = "world",
                                   .number = 7,
                                   .name = "barrier",
                                   .has_ended = false,
                                   .waited = std::chrono::seconds(30)};
    const trace::RankState waits{.rank = 1,
                                 .host = "n1",
                                 .groups = {{.name = "world", .last_number = 7, .size = 3}},
                                 .operations = {barrier}};
    const trace::RankState late{.rank = 0,
                                .host = "n0",
                                .activity = trace::Activity::sleeps,
                                .groups = {{.name = "world", .last_number = 6, .size = 3}}};
    job.take({.kind = Event::Kind::state, .rank = 1, .state = to_json(waits)});
    job.take({.kind = Event::Kind::state, .rank = 0, .state = "of before"});
    job.take({.kind = Event::Kind::state, .rank = 0, .state = to_json(late)});
    job.take({.kind = Event::Kind::done, .rank = 2, .host = "n2"});
    job.take(idle(0, 5, 35, ""));
    job.take(idle(1, 5, 35, ""));
    const auto hung = job.hung(std::chrono::seconds(0));
    job.stop_asked();
    job.take({.kind = Event::Kind::active, .rank = 1, .host = "n1"});  // it notices that it is to stop
    job.take({.kind = Event::Kind::stopped, .rank = 0});
    job.take({.kind = Event::Kind::stopped, .rank = 1});
    const auto found = diagnose(job, hung, {});
    EXPECT_EQ(found.cause, trace::HangDiagnosis::Cause::has_ended);
    EXPECT_THAT(found.culprits, ElementsAre(2));
    EXPECT_EQ(found.culprit, "rank 2 on n2 has ended: it has not called barrier 7 of world");
}

TEST_F(HangReport, NamesRanksThatHaveNotStartedByThePlan) {
    using namespace std::chrono_literals;
    const std::vector<std::string> hosts{"n0", "n1", "n1"};
    JobState job(3);
    EXPECT_EQ(unstarted_warning(diagnose(job, {}, hosts), job, 30s, "srun", ""),
              "no rank has started, 30 s after srun was called: their node may be down, or wait for a file "
              "system; the job waits");
    EXPECT_EQ(
        unstarted_warning(diagnose(job, {}, hosts), job, 30s, "srun", "srun: first\nsrun: job queued\n"),
        "no rank has started, 30 s after srun was called: srun says \"srun: job queued\"; the job waits");
    job.take({.kind = Event::Kind::started, .rank = 0, .host = "n0"});
    const auto diagnosis = diagnose(job, {}, hosts);
    EXPECT_THAT(diagnosis.culprits, ElementsAre(1, 2));
    EXPECT_EQ(
        unstarted_warning(diagnosis, job, 30'400ms, "srun", ""),
        "ranks [1,2] on n1 have not started, 30 s after the last one that has: their node may be down, or "
        "wait for a file system; the job waits");
}

TEST_F(HangReport, StacksOnAnotherNode) {
    EXPECT_THAT(
        hang_locations({idle(0, 0, 2, "f ()"), idle(1, 0, 2, "f ()")},
                       [](int) { return std::string("/log/workerlog.0.stacks on n2"); }),
        ElementsAre("ranks [0,1]: since 12:00:00 in f (); stacks: /log/workerlog.0.stacks on n2 and so on"));
}

TEST_F(HangReport, RanksThatWereDoneBefore) {
    const auto done = [](int rank, std::int64_t at_s) {
        return Event{.kind = Event::Kind::done, .rank = rank, .time_us = noon_us + at_s * 1'000'000};
    };
    EXPECT_EQ(done_before({}), std::nullopt);
    EXPECT_EQ(done_before({done(1, 3)}), "rank [1]: ended with exit code 0 before, at 12:00:03");
    EXPECT_EQ(done_before({done(3, 5), done(1, 4)}),
              "ranks [1,3]: ended with exit code 0 before, the last one at 12:00:05");
}

TEST_F(HangReport, WithoutStacks) {
    EXPECT_THAT(hang_locations({idle(0, 0, 2, "")}, stacks_of),
                ElementsAre("rank [0]: since 12:00:00 in an unknown place; stacks: /log/workerlog.0.stacks"));
}

}  // namespace
}  // namespace dtrain::launch
