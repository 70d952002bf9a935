// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: stories of jobs, told event by event, and what a person would conclude from each.
#include <algorithm>
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/outcome/job_state.hpp"

namespace dtrain::launch {
namespace {

using namespace std::chrono_literals;
using cluster::Event;
using Kind = Event::Kind;
using testing::ElementsAre;
using testing::IsEmpty;

Event event(Kind kind, int rank, std::int64_t time_us, int code = 0) {
    return {.kind = kind, .rank = rank, .host = "n1", .code = code, .time_us = time_us};
}

std::vector<int> failed(const JobState& job) {
    std::vector<int> ranks;
    for (const auto& failure : job.failures()) ranks.push_back(failure.rank);
    return ranks;
}

TEST(JobState, InTheBeginningAllAreSilent) {
    const JobState job(3);
    EXPECT_EQ(job.size(), 3);
    EXPECT_FALSE(job.all_done());
    EXPECT_FALSE(job.all_ended());
    EXPECT_FALSE(job.any_failed());
    EXPECT_THAT(job.silent(), ElementsAre(0, 1, 2));
    EXPECT_THAT(job.stopped(), IsEmpty());
    EXPECT_EQ(job.start_of(1), std::nullopt);
    EXPECT_EQ(job.end_of(1), std::nullopt);
    EXPECT_FALSE(job.stopped_after_failure());
}

TEST(JobState, AllGoesWell) {
    JobState job(2);
    for (const int rank : {0, 1}) job.take(event(Kind::started, rank, 10 + rank));
    EXPECT_EQ(job.start_of(1), event(Kind::started, 1, 11));
    EXPECT_THAT(job.silent(), ElementsAre(0, 1)) << "a start tells no end";
    job.take(event(Kind::done, 1, 20));
    EXPECT_FALSE(job.all_done());
    EXPECT_THAT(job.silent(), ElementsAre(0));
    job.take(event(Kind::done, 0, 21));
    EXPECT_TRUE(job.all_done());
    EXPECT_TRUE(job.all_ended());
    EXPECT_FALSE(job.any_failed());
}

TEST(JobState, CountsWhoHasBegun) {
    JobState job(3);
    EXPECT_EQ(job.begun(), 0);
    job.take(event(Kind::started, 2, 10));
    EXPECT_EQ(job.begun(), 1);
    job.take(event(Kind::exited, 2, 11, 1));
    job.take(event(Kind::issue, 0, 12, 2));
    EXPECT_EQ(job.begun(), 2);
    EXPECT_FALSE(job.all_have_started()) << "of rank 1 nothing was heard";
    job.take(event(Kind::started, 1, 13));
    EXPECT_EQ(job.begun(), 3);
    EXPECT_TRUE(job.all_have_started());
}

TEST(JobState, CountsForTheStatusLine) {
    JobState job(3);
    const auto expect = [&](int up, int done) {
        EXPECT_EQ(job.up(), up);
        EXPECT_EQ(job.done(), done);
    };
    expect(0, 0);
    for (const int rank : {0, 1, 2}) job.take(event(Kind::started, rank, 10));
    expect(3, 0);
    job.take(event(Kind::done, 1, 20));
    expect(2, 1);
    job.take(event(Kind::exited, 0, 20, 7));
    expect(1, 1);
}

TEST(JobState, AWarningIsNoEnd) {
    JobState job(1);
    job.take(event(Kind::started, 0, 10));
    job.take(event(Kind::warning, 0, 11));
    job.take(event(Kind::gpu_error, 0, 12));
    EXPECT_FALSE(job.all_ended());
    EXPECT_FALSE(job.any_failed());
    EXPECT_EQ(job.up(), 1);
}

std::vector<int> hung(const JobState& job, std::chrono::milliseconds timeout = 0ms) {
    std::vector<int> ranks;
    for (const auto& idle : job.hung(timeout)) ranks.push_back(idle.rank);
    return ranks;
}

TEST(JobState, AJobHangsWhenAllThatIsLeftIsIdle) {
    JobState job(3);
    EXPECT_THAT(hung(job), IsEmpty());
    for (const int rank : {0, 1, 2}) job.take(event(Kind::started, rank, 10));
    job.take(event(Kind::idle, 0, 20));
    job.take(event(Kind::idle, 1, 21));
    EXPECT_THAT(hung(job), IsEmpty()) << "rank 2 computes";
    job.take(event(Kind::idle, 2, 22));
    EXPECT_THAT(hung(job), ElementsAre(0, 1, 2));
    EXPECT_EQ(job.hung(0ms)[1], event(Kind::idle, 1, 21));
    job.take(event(Kind::active, 1, 23));
    EXPECT_THAT(hung(job), IsEmpty());
    job.take(event(Kind::idle, 1, 24));
    EXPECT_THAT(hung(job), ElementsAre(0, 1, 2));
    job.take(event(Kind::idle, 2, 30));
    EXPECT_EQ(job.hung(0ms)[2].time_us, 30) << "the last word counts";
    EXPECT_FALSE(job.any_failed());
}

TEST(JobState, RanksThatAllComputeDoNotHang) {
    JobState job(2);
    auto idle = event(Kind::idle, 0, 20);
    idle.code = static_cast<int>(cluster::Inactivity::computes);
    job.take(idle);
    idle.rank = 1;
    job.take(idle);
    EXPECT_THAT(hung(job), IsEmpty()) << "nobody waits";
    idle.code = static_cast<int>(cluster::Inactivity::waits);
    job.take(idle);
    EXPECT_THAT(hung(job), ElementsAre(0, 1));
}

TEST(JobState, WhoWaitedForARankThatHasEndedGetsTime) {
    JobState job(3);
    for (const int rank : {0, 1}) job.take(event(Kind::idle, rank, 50'000));
    job.take(event(Kind::done, 2, 60'000));
    EXPECT_THAT(hung(job, 5ms), IsEmpty());
    job.take(event(Kind::idle, 0, 65'000));
    EXPECT_THAT(hung(job, 5ms), IsEmpty()) << "rank 1 has not been heard since";
    job.take(event(Kind::idle, 1, 64'999));
    EXPECT_THAT(hung(job, 5ms), IsEmpty());
    job.take(event(Kind::idle, 1, 66'000));
    EXPECT_THAT(hung(job, 5ms), ElementsAre(0, 1));
}

TEST(JobState, RanksThatWaitForOneThatDoesNotStartHang) {
    constexpr std::int64_t second_us = 1'000'000;
    JobState job(3);
    for (const int rank : {0, 1}) job.take(event(Kind::started, rank, (1 + rank) * second_us));
    for (const int rank : {0, 1}) job.take(event(Kind::idle, rank, 31 * second_us));
    EXPECT_THAT(hung(job, 5s), IsEmpty()) << "a start may take 30 s longer than that of rank 1";
    for (const int rank : {0, 1}) job.take(event(Kind::idle, rank, 32 * second_us));
    EXPECT_THAT(hung(job, 5s), ElementsAre(0, 1));
    EXPECT_THAT(hung(job, 31s), IsEmpty());
    job.take(event(Kind::started, 2, 33 * second_us));
    EXPECT_THAT(hung(job, 5s), IsEmpty()) << "it has come";
}

TEST(JobState, WhatARankDidBeforeItWasStoppedIsKept) {
    JobState job(1);
    Event state{.kind = Event::Kind::state};
    state.state = "{\"before\":1}";
    job.take(state);
    EXPECT_EQ(job.state_of(0), "{\"before\":1}");
    job.take({.kind = Event::Kind::active});
    EXPECT_EQ(job.state_of(0), "") << "it does something else now";
    job.take(state);
    job.stop_asked();
    job.take({.kind = Event::Kind::active});
    EXPECT_EQ(job.state_of(0), "{\"before\":1}");
    state.state = "{\"after\":1}";
    job.take(state);
    EXPECT_EQ(job.state_of(0), "{\"before\":1}");
}

TEST(JobState, AJobThatHasEndedDoesNotHang) {
    JobState job(1);
    job.take(event(Kind::idle, 0, 20));
    job.take(event(Kind::done, 0, 30));
    EXPECT_THAT(hung(job), IsEmpty());
    job.take(event(Kind::idle, 0, 40));
    EXPECT_THAT(hung(job), IsEmpty());
}

TEST(JobState, RepeatedAndLateEventsChangeNothing) {
    JobState job(2);
    job.take(event(Kind::started, 0, 10));
    job.take(event(Kind::started, 0, 15));
    EXPECT_EQ(job.start_of(0)->time_us, 10);
    job.take(event(Kind::exited, 0, 20, 7));
    for (int repeat = 0; repeat < 3; ++repeat) job.take(event(Kind::exited, 0, 20, 7));
    job.take(event(Kind::done, 0, 30));
    job.take(event(Kind::stopped, 0, 31));
    job.take(event(Kind::started, 0, 32));
    ASSERT_THAT(failed(job), ElementsAre(0));
    EXPECT_EQ(job.failures().front(), event(Kind::exited, 0, 20, 7));
    EXPECT_EQ(job.start_of(0)->time_us, 10);
}

TEST(JobState, AnEndMayComeBeforeItsStart) {
    JobState job(1);
    job.take(event(Kind::done, 0, 20));
    job.take(event(Kind::started, 0, 10));
    EXPECT_TRUE(job.all_done());
    EXPECT_EQ(job.start_of(0)->time_us, 10);
}

TEST(JobState, TheFirstFailureIsTheFirstByTheClockHoweverTheyArrive) {
    const std::vector<Event> in_time{event(Kind::issue, 2, 100), event(Kind::exited, 0, 200, 7),
                                     event(Kind::port_taken, 3, 300), event(Kind::exited, 1, 400, 1)};
    std::vector<std::size_t> order{0, 1, 2, 3};
    do {
        JobState job(4);
        for (const auto i : order) job.take(in_time[i]);
        EXPECT_EQ(job.failures(), in_time);
        EXPECT_TRUE(job.all_ended());
    } while (std::next_permutation(order.begin(), order.end()));
}

TEST(JobState, AtTheSameTimeTheLowerRankIsFirst) {
    JobState job(3);
    for (const int rank : {2, 0, 1}) job.take(event(Kind::exited, rank, 100, 1));
    EXPECT_THAT(failed(job), ElementsAre(0, 1, 2));
}

TEST(JobState, RanksThatWeStopAreNoFailures) {
    JobState job(3);
    job.take(event(Kind::exited, 1, 100, 7));
    job.stop_asked();
    job.take(event(Kind::stopped, 0, 200));
    job.take(event(Kind::stopped, 2, 210));
    EXPECT_THAT(failed(job), ElementsAre(1));
    EXPECT_THAT(job.stopped(), ElementsAre(0, 2));
    EXPECT_TRUE(job.all_ended());
    EXPECT_FALSE(job.all_done());
}

TEST(JobState, RanksThatSomebodyElseStopsAreFailures) {
    JobState job(2);
    job.take(event(Kind::stopped, 1, 100));
    EXPECT_TRUE(job.any_failed());
    EXPECT_THAT(failed(job), ElementsAre(1));
    EXPECT_THAT(job.stopped(), IsEmpty());
    job.stop_asked();
    EXPECT_THAT(failed(job), ElementsAre(1)) << "it was stopped before we asked";
}

TEST(JobState, RanksThatFailWhileWeStopThemAreFailures) {
    JobState job(2);
    job.stop_asked();
    job.take(event(Kind::exited, 0, 100, 3));
    job.take(event(Kind::done, 1, 101));
    EXPECT_THAT(failed(job), ElementsAre(0));
    EXPECT_THAT(job.stopped(), IsEmpty());
}

TEST(JobState, WhatCameFirstTheFailureOrTheStop) {
    JobState failed_first(2);
    failed_first.take(event(Kind::exited, 1, 100, 7));
    failed_first.stop_asked();
    EXPECT_TRUE(failed_first.stopped_after_failure());
    JobState stopped_first(2);
    stopped_first.stop_asked();
    stopped_first.take(event(Kind::exited, 1, 100, 7));
    stopped_first.stop_asked();
    EXPECT_FALSE(stopped_first.stopped_after_failure())
        << "being asked twice does not change what came first";
}

TEST(JobState, WhoStoppedARankIsKnownOfEach) {
    JobState job(3);
    job.take(event(Kind::stopped, 0, 100));
    job.stop_asked();
    job.take(event(Kind::stopped, 1, 110));
    job.take(event(Kind::exited, 2, 120, 1));
    EXPECT_FALSE(job.was_stopped_by_us(0));
    EXPECT_TRUE(job.was_stopped_by_us(1));
    EXPECT_FALSE(job.was_stopped_by_us(2));
    EXPECT_EQ(job.end_of(2), event(Kind::exited, 2, 120, 1));
}

TEST(JobState, RanksThatTheJobHasNotAreIgnored) {
    JobState job(2);
    for (const int rank : {-1, 2, 1000000}) {
        job.take(event(Kind::started, rank, 5));
        job.take(event(Kind::exited, rank, 10, 7));
    }
    EXPECT_FALSE(job.any_failed());
    EXPECT_THAT(job.silent(), ElementsAre(0, 1));
}

}  // namespace
}  // namespace dtrain::launch
