// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracles: jobs told event by event, with times written by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/outcome/run_page.hpp"

namespace dtrain::launch {
namespace {

using cluster::Event;
using testing::HasSubstr;

constexpr double began = 1000;

Event event_at(Event::Kind kind, int rank, double seconds, int code = 0, int signal = 0) {
    return {.kind = kind,
            .rank = rank,
            .host = "node" + std::to_string(rank),
            .pid = 100 + rank,
            .code = code,
            .signal = signal,
            .time_us = static_cast<std::int64_t>((began + seconds) * 1e6)};
}

std::vector<RankInfo> info(int ranks) {
    std::vector<RankInfo> out;
    for (int rank = 0; rank < ranks; ++rank)
        out.push_back(
            {.number = rank, .node = "node" + std::to_string(rank), .host = "node" + std::to_string(rank)});
    return out;
}

metrics::Run after(const JobState& job, const Ending& ending, metrics::Run run, int start, double now) {
    const auto report = examine(job, ending, info(job.size()), [](int) { return "its last words\n"; });
    add_start(run, start, job, report, began + now);
    return run;
}

TEST(RunPage, ADoneJobHasALifeOfEachRank) {
    JobState job(2);
    for (int rank : {0, 1}) job.take(event_at(Event::Kind::started, rank, 1 + rank));
    for (int rank : {0, 1}) job.take(event_at(Event::Kind::done, rank, 5 + rank));
    const auto run = after(job, {}, {.title = "t", .began = began}, 1, 7);
    EXPECT_EQ(run.outcome, "done");
    EXPECT_EQ(run.seconds, 7);
    EXPECT_FALSE(run.failure);
    ASSERT_EQ(run.spans.size(), 2U);
    EXPECT_EQ(run.spans[1], (metrics::RankSpan{1, 1, 2, 6, "done", "done"}));
}

TEST(RunPage, AHangThatWasOnlyReportedIsAnEventAndSoIsItsEnd) {
    JobState job(1);
    job.take(event_at(Event::Kind::started, 0, 1));
    job.take(event_at(Event::Kind::done, 0, 9));
    Ending ending;
    ending.reported_hangs = {{.text = "the job hangs: rank 0 sleeps",
                              .diagnosis = {},
                              .time_us = static_cast<std::int64_t>((began + 4) * 1e6),
                              .seconds = 2.5}};
    const auto run = after(job, ending, {.title = "t", .began = began}, 1, 10);
    EXPECT_EQ(run.outcome, "done");
    EXPECT_THAT(run.events, testing::ElementsAre(metrics::RunEvent{4, "the job hangs: rank 0 sleeps", true},
                                                 metrics::RunEvent{6.5, "the job goes on", false},
                                                 metrics::RunEvent{10, "the job is done", false}));
}

TEST(RunPage, AFailureNamesRankNodeAndReason) {
    JobState job(2);
    for (int rank : {0, 1}) job.take(event_at(Event::Kind::started, rank, 1));
    job.take(event_at(Event::Kind::exited, 1, 3, 7));
    job.stop_asked();
    job.take(event_at(Event::Kind::stopped, 0, 4, 0, 15));
    const auto run = after(job, {}, {.title = "t", .began = began}, 1, 5);
    EXPECT_EQ(run.outcome, "failed");
    ASSERT_TRUE(run.failure);
    EXPECT_EQ(run.failure->headline, "rank 1 on node1: the program ended with exit code 7");
    EXPECT_EQ(run.failure->info[1], (metrics::Fact{"node", "node1"}));
    EXPECT_THAT(run.failure->text, HasSubstr("its last words"));
    EXPECT_EQ(run.spans[0].state, "stopped");
    EXPECT_EQ(run.spans[1], (metrics::RankSpan{1, 1, 1, 3, "failed", "the program ended with exit code 7"}));
    EXPECT_EQ(run.events.front(), (metrics::RunEvent{3, "rank 1: the program ended with exit code 7", true}));
}

TEST(RunPage, ARankThatNeverToldItsEndLivedUntilTheJobsAndIsLost) {
    JobState job(1);
    job.take(event_at(Event::Kind::started, 0, 1));
    const auto run = after(job, {.engine_status = {.code = 1}}, {.title = "t", .began = began}, 1, 9);
    EXPECT_EQ(run.spans.front(), (metrics::RankSpan{0, 1, 1, 9, "lost", "ended without a word"}));
}

TEST(RunPage, AnEarlierStartStays) {
    JobState first(1), second(1);
    first.take(event_at(Event::Kind::started, 0, 1));
    first.take(event_at(Event::Kind::exited, 0, 2, 1));
    second.take(event_at(Event::Kind::started, 0, 3));
    second.take(event_at(Event::Kind::done, 0, 4));
    auto run = after(first, {}, {.title = "t", .began = began}, 1, 2.5);
    run = after(second, {}, run, 2, 5);
    EXPECT_EQ(run.outcome, "done");
    EXPECT_FALSE(run.failure);
    ASSERT_EQ(run.spans.size(), 2U);
    EXPECT_EQ(run.spans[0].state, "failed");
    EXPECT_EQ(run.spans[1].start, 2);
}

TEST(RunPage, PlacesAreWhereRanksSayTheyAre) {
    JobState job(1);
    auto started = event_at(Event::Kind::started, 0, 1);
    started.cpus = "4-7";
    job.take(started);
    job.take(event_at(Event::Kind::done, 0, 2));
    const auto run =
        after(job, {}, {.title = "t", .began = began, .locations = {{.rank = 0, .host = "10.0.0.1"}}}, 1, 3);
    EXPECT_EQ(run.locations.front().host, "node0");
    EXPECT_EQ(run.locations.front().cpus, "4-7");
}

TEST(RunPage, WhatAJobMeasuredIsPutIntoItsTime) {
    metrics::Run run{
        .title = "a.toml", .began = began, .info = {{"dtrain", "1"}}, .events = {{5, "later", false}}};
    add_measured(run, {.title = "digits",
                       .began = began + 2,
                       .info = {{"dtrain", "2"}, {"model", "m"}},
                       .rows = {{"epoch", began + 3, 1, 1, 10, {{"train_loss", 0.5}}}},
                       .times = {{0, 1, 2, 3, 4, 5}},
                       .events = {{1, "saved", false}}});
    EXPECT_EQ(run.title, "digits");
    EXPECT_EQ(run.rows.front().seconds, 3);
    EXPECT_EQ(run.events.front(), (metrics::RunEvent{3, "saved", false}));
    EXPECT_EQ(run.info, (std::vector<metrics::Fact>{{"dtrain", "1"}, {"model", "m"}}));
    EXPECT_EQ(run.times.size(), 1U);
}

TEST(RunPage, WhatAJobMeasuredIsOfTheRanksThatItNames) {
    metrics::Run run{
        .began = began,
        .locations = {{.rank = 0, .role = "server"}, {.rank = 1, .role = "worker"}, {.rank = 2}}};
    const std::vector<metrics::RankTimes> times{{1, 5, 4, std::nullopt, 2, 1}, {2, 6, 3, std::nullopt, 2, 1}};
    const std::vector<metrics::RankGpus> gpus{{.rank = 1, .watts = 70}, {.rank = 2, .watts = 90}};
    add_measured(run,
                 {.began = began, .locations = {{.rank = 1}, {.rank = 2}}, .times = times, .gpus = gpus});
    EXPECT_EQ(run.times, times);
    EXPECT_EQ(run.gpus, gpus);
    EXPECT_EQ(run.locations.size(), 3U);
    EXPECT_EQ(run.locations[0].role, "server");
}

TEST(RunPage, IsAFileOfHtml) {
    EXPECT_TRUE(RunPage::is_page("run.html"));
    EXPECT_TRUE(RunPage::is_page("/a/b.htm"));
    EXPECT_FALSE(RunPage::is_page("run.json"));
    EXPECT_FALSE(RunPage::is_page("html"));
}

}  // namespace
}  // namespace dtrain::launch
