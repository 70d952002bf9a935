// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: stories of jobs, told event by event, and what an operator would want to see after each.
#include <algorithm>
#include <map>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/wall_clock.hpp"
#include "launch/jobs/job_metrics.hpp"

namespace dtrain::launch {
namespace {

using cluster::Event;
using Kind = Event::Kind;
using testing::AllOf;
using testing::ElementsAre;
using testing::Ge;
using testing::IsEmpty;
using testing::Le;
using testing::Pair;

std::vector<PlannedRank> two_planned() {
    return {{.info = {.number = 0, .host = "n1"}}, {.info = {.number = 1, .host = "", .is_local = false}}};
}

/// Values by the last label's.
std::map<std::string, double> values_of(const JobMetrics& metrics, const std::string& name) {
    std::map<std::string, double> out;
    for (const auto& family : metrics.families())
        if (family.name == name)
            for (const auto& sample : family.samples)
                out[sample.labels.empty() ? "" : sample.labels.back().value] = std::get<double>(sample.value);
    return out;
}

std::string state_of_job(const JobMetrics& metrics) {
    for (const auto& [state, is_now] : values_of(metrics, "dtrain_job_state"))
        if (is_now == 1) return state;
    return "";
}

class Reported {
  public:
    Reported() { metrics.begin(two_planned(), 0); }

    void take(const Event& event) {
        job.take(event);
        metrics.take(event, job);
    }

    JobMetrics metrics{{.name = "mine", .began_us = now_us()}};
    JobState job{2};
};

TEST(JobMetrics, WaitUntilAStartBegins) {
    JobMetrics metrics({.name = "mine", .began_us = now_us()});
    EXPECT_EQ(state_of_job(metrics), "waiting");
    metrics.be("following");
    EXPECT_EQ(state_of_job(metrics), "following");
    metrics.begin(two_planned(), 3);
    EXPECT_EQ(state_of_job(metrics), "starting");
    EXPECT_THAT(values_of(metrics, "dtrain_job_restarts_total"), ElementsAre(Pair("", 3)));
    EXPECT_EQ(values_of(metrics, "dtrain_job_ranks")["starting"], 2);
}

TEST(JobMetrics, FollowTheRanks) {
    Reported reported;
    reported.take({.kind = Kind::started, .rank = 0, .host = "n1", .pid = 11, .time_us = 5'000'000});
    EXPECT_EQ(state_of_job(reported.metrics), "starting");
    reported.take({.kind = Kind::started, .rank = 1, .host = "n2", .pid = 12, .time_us = 6'000'000});
    EXPECT_EQ(state_of_job(reported.metrics), "running");
    EXPECT_THAT(values_of(reported.metrics, "dtrain_rank_start_time_seconds"),
                ElementsAre(Pair("0", 5), Pair("1", 6)));
    EXPECT_THAT(values_of(reported.metrics, "dtrain_rank_info"), ElementsAre(Pair("n1", 1), Pair("n2", 1)))
        << "as it told";

    reported.take({.kind = Kind::idle, .rank = 1, .time_us = 7'000'000});
    EXPECT_EQ(values_of(reported.metrics, "dtrain_job_ranks")["idle"], 1);
    reported.take({.kind = Kind::active, .rank = 1, .time_us = 8'000'000});
    EXPECT_EQ(values_of(reported.metrics, "dtrain_job_ranks")["running"], 2);

    reported.take({.kind = Kind::done, .rank = 0, .time_us = 9'000'000});
    EXPECT_EQ(state_of_job(reported.metrics), "running");
    reported.metrics.stop();
    reported.take({.kind = Kind::stopped, .rank = 1, .signal = 15, .time_us = 9'000'000});
    EXPECT_EQ(state_of_job(reported.metrics), "stopping");
    EXPECT_THAT(values_of(reported.metrics, "dtrain_rank_exit_status"),
                ElementsAre(Pair("0", 0), Pair("1", 143)));
    EXPECT_THAT(values_of(reported.metrics, "dtrain_rank_failures_total"), IsEmpty());
}

TEST(JobMetrics, CountOverAllStarts) {
    Reported reported;
    for (int restart = 0; restart < 3; ++restart) {
        reported.metrics.begin(two_planned(), restart);
        reported.job = JobState(2);
        for (const int rank : {0, 1}) reported.take({.kind = Kind::started, .rank = rank, .host = "n1"});
        for (const auto* text : {"Xid 79", "Xid 79", "Xid 48"})
            reported.take({.kind = Kind::gpu_error, .rank = 0, .host = "n1", .text = text});
        for (int times = 0; times < 2; ++times)
            reported.take({.kind = Kind::exited, .rank = 1, .host = "n1", .code = 3});
        reported.take({.kind = Kind::stopped, .rank = 0, .host = "n1", .signal = 15});
    }
    EXPECT_THAT(values_of(reported.metrics, "dtrain_rank_failures_total"), ElementsAre(Pair("n1", 3)));
    EXPECT_THAT(values_of(reported.metrics, "dtrain_node_gpu_errors_total"), ElementsAre(Pair("n1", 6)));
    reported.metrics.begin(two_planned(), 3);
    EXPECT_THAT(values_of(reported.metrics, "dtrain_rank_exit_status"), IsEmpty()) << "of an earlier start";
    EXPECT_THAT(values_of(reported.metrics, "dtrain_rank_failures_total"), ElementsAre(Pair("n1", 3)));
}

TEST(JobMetrics, HaveHeartbeatsByTheLaunchersClock) {
    Reported reported;
    EXPECT_THAT(values_of(reported.metrics, "dtrain_rank_heartbeat_time_seconds"), IsEmpty());
    const auto now = [] { return static_cast<double>(now_us()) / 1e6; };
    const auto before = now();
    reported.take({.kind = Kind::alive, .rank = 1, .time_us = 1});
    EXPECT_THAT(values_of(reported.metrics, "dtrain_rank_heartbeat_time_seconds"),
                ElementsAre(Pair("1", AllOf(Ge(before), Le(now())))));
}

TEST(JobMetrics, LetRanksBeThatThePlanDoesNotHave) {
    Reported reported;
    for (const int rank : {-1, 2, 1'000'000}) reported.take({.kind = Kind::exited, .rank = rank, .code = 1});
    EXPECT_EQ(values_of(reported.metrics, "dtrain_job_ranks")["starting"], 2);
}

TEST(JobMetrics, AreAskedByAnotherThread) {
    Reported reported;
    std::jthread asks([&](const std::stop_token& stop) {
        while (!stop.stop_requested()) EXPECT_FALSE(reported.metrics.families().empty());
    });
    for (int restart = 0; restart < 200; ++restart) {
        reported.metrics.begin(two_planned(), restart);
        reported.job = JobState(2);
        for (const int rank : {0, 1}) reported.take({.kind = Kind::started, .rank = rank, .host = "n1"});
        reported.metrics.stop();
        reported.metrics.be("waiting");
    }
    asks.request_stop();
    asks.join();
    EXPECT_THAT(values_of(reported.metrics, "dtrain_job_restarts_total"), ElementsAre(Pair("", 199)));
}

}  // namespace
}  // namespace dtrain::launch
