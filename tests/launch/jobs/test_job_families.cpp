// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: values written by hand for a job that the test describes; Prometheus' rules for names: units are
// seconds, counters and nothing else end in _total (https://prometheus.io/docs/practices/naming/).
#include <algorithm>
#include <cmath>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/jobs/job_families.hpp"

namespace dtrain::launch {
namespace {

using scrape::Family;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr std::int64_t one_second = 1'000'000;

JobSnapshot three_ranks() {
    const auto rank = [](int number, const char* host, const char* state) {
        return MeasuredRank{.view = {.rank = number,
                                     .role = "trainer",
                                     .number = number,
                                     .host = host,
                                     .state = state,
                                     .log = "/log/workerlog." + std::to_string(number)},
                            .has_local_log = number < 2};
    };
    JobSnapshot job{.identity = {.name = "mine",
                                 .program = "train.py",
                                 .engine = "mpirun",
                                 .host = "n1",
                                 .version = "1.2.3",
                                 .max_restarts = 3,
                                 .began_us = 1000 * one_second},
                    .state = "running",
                    .restarts = 1,
                    .attempt_began_us = 1060 * one_second,
                    .ranks = {rank(0, "n1", "running"), rank(1, "n1", "failed"), rank(2, "n2", "idle")},
                    .gpu_errors = {{"n2", 4}},
                    .failures = {{1, {.host = "n1", .count = 2}}}};
    job.ranks[0].started_us = 1061 * one_second + one_second / 2;
    job.ranks[1].view.signal = 9;
    job.ranks[2].heartbeat_us = 1070 * one_second;
    return job;
}

std::vector<Family> families(const JobSnapshot& job) {
    return families_of(job, 1100 * one_second, [](const std::string& path) -> std::optional<double> {
        if (path == "/log/workerlog.0") return 1099.5;
        return std::nullopt;  // not there yet
    });
}

/// Values by labels, "state=running".
std::map<std::string, double> values(const std::vector<Family>& all, const std::string& name) {
    std::map<std::string, double> out;
    for (const auto& family : all) {
        if (family.name != name) continue;
        for (const auto& sample : family.samples) {
            std::string labels;
            for (const auto& [label, value] : sample.labels)
                labels += (labels.empty() ? "" : ",") + label + "=" + value;
            EXPECT_TRUE(out.emplace(labels, std::get<double>(sample.value)).second) << name << labels;
        }
    }
    return out;
}

TEST(JobFamilies, TellOfTheJob) {
    const auto all = families(three_ranks());
    EXPECT_THAT(values(all, "dtrain_job_info"),
                ElementsAre(Pair("name=mine,program=train.py,engine=mpirun,host=n1,version=1.2.3", 1)));
    EXPECT_THAT(values(all, "dtrain_job_state"),
                ElementsAre(Pair("state=following", 0), Pair("state=running", 1), Pair("state=starting", 0),
                            Pair("state=stopping", 0), Pair("state=waiting", 0)));
    EXPECT_THAT(values(all, "dtrain_job_start_time_seconds"), ElementsAre(Pair("", 1000)));
    EXPECT_THAT(values(all, "dtrain_job_uptime_seconds"), ElementsAre(Pair("", 100)));
    EXPECT_THAT(values(all, "dtrain_job_attempt_uptime_seconds"), ElementsAre(Pair("", 40)));
    EXPECT_THAT(values(all, "dtrain_job_restarts_total"), ElementsAre(Pair("", 1)));
    EXPECT_THAT(values(all, "dtrain_job_max_restarts"), ElementsAre(Pair("", 3)));
    EXPECT_THAT(values(all, "dtrain_job_ranks"),
                ElementsAre(Pair("state=done", 0), Pair("state=failed", 1), Pair("state=idle", 1),
                            Pair("state=running", 1), Pair("state=starting", 0), Pair("state=stopped", 0)));
}

TEST(JobFamilies, TellOfItsRanks) {
    const auto all = families(three_ranks());
    EXPECT_THAT(values(all, "dtrain_rank_info"),
                ElementsAre(Pair("rank=0,role=trainer,number=0,host=n1", 1),
                            Pair("rank=1,role=trainer,number=1,host=n1", 1),
                            Pair("rank=2,role=trainer,number=2,host=n2", 1)));
    EXPECT_THAT(values(all, "dtrain_rank_up"),
                ElementsAre(Pair("rank=0", 1), Pair("rank=1", 0), Pair("rank=2", 1)));
    EXPECT_THAT(values(all, "dtrain_rank_start_time_seconds"), ElementsAre(Pair("rank=0", 1061.5)));
    EXPECT_THAT(values(all, "dtrain_rank_exit_status"), ElementsAre(Pair("rank=1", 137)));
    EXPECT_THAT(values(all, "dtrain_rank_log_written_time_seconds"), ElementsAre(Pair("rank=0", 1099.5)));
    EXPECT_THAT(values(all, "dtrain_rank_heartbeat_time_seconds"), ElementsAre(Pair("rank=2", 1070)));
    EXPECT_THAT(values(all, "dtrain_rank_failures_total"), ElementsAre(Pair("rank=1,host=n1", 2)));
    EXPECT_THAT(values(all, "dtrain_node_gpu_errors_total"), ElementsAre(Pair("host=n2", 4)));
}

TEST(JobFamilies, HaveTheExitStatusOfWhatHasOne) {
    auto job = three_ranks();
    job.ranks[0].view.state = "done";
    job.ranks[1].view.signal = 0;
    job.ranks[1].view.code = 7;
    job.ranks[2].view.state = "failed";  // its program could not be started
    EXPECT_THAT(values(families(job), "dtrain_rank_exit_status"),
                ElementsAre(Pair("rank=0", 0), Pair("rank=1", 7)));
}

TEST(JobFamilies, OfAJobWithoutRanksHaveNone) {
    const auto all =
        families({.identity = {.name = "mine", .began_us = 1099 * one_second}, .state = "following"});
    EXPECT_THAT(values(all, "dtrain_job_state"), testing::Contains(Pair("state=following", 1)));
    EXPECT_THAT(values(all, "dtrain_job_uptime_seconds"), ElementsAre(Pair("", 1)));
    for (const auto& family : all) EXPECT_TRUE(family.name.starts_with("dtrain_job_")) << family.name;
    EXPECT_THAT(values(all, "dtrain_job_attempt_uptime_seconds"), IsEmpty());
    EXPECT_THAT(values(all, "dtrain_job_ranks"), IsEmpty());
}

TEST(JobFamilies, KeepPrometheusRules) {
    std::vector<std::string> names;
    for (const auto& family : families(three_ranks())) {
        names.push_back(family.name);
        EXPECT_EQ(family.type == Family::Type::counter, family.name.ends_with("_total")) << family.name;
        EXPECT_EQ(family.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string::npos)
            << family.name;
        EXPECT_FALSE(family.help.empty() || family.samples.empty()) << family.name;
        EXPECT_EQ(family.help.find('\n'), std::string::npos) << family.name;
        for (const auto& sample : family.samples) {
            EXPECT_TRUE(std::isfinite(std::get<double>(sample.value))) << family.name;
            for (const auto& label : sample.labels) EXPECT_NE(label.name, "job") << "is Prometheus' own";
        }
    }
    std::ranges::sort(names);
    EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

}  // namespace
}  // namespace dtrain::launch
