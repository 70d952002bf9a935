// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: tables written by hand; what is written for programs is read back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/jobs/elsewhere.hpp"
#include "launch/jobs/job_status.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain::launch {
namespace {

using cluster::Event;
using testing::ElementsAre;

constexpr std::int64_t second = 1'000'000;

JobState two_ranks_one_failed() {
    JobState job(3);
    job.take({.kind = Event::Kind::started, .rank = 0, .host = "n1", .pid = 11});
    job.take({.kind = Event::Kind::started, .rank = 1, .host = "n2", .pid = 12});
    job.take({.kind = Event::Kind::exited, .rank = 1, .host = "n2", .code = 7});
    return job;
}

std::vector<PlannedRank> planned() {
    std::vector<PlannedRank> out;
    for (int rank = 0; rank < 3; ++rank)
        out.push_back(
            {.info = {.number = rank, .host = "10.0.0.1", .log = "/log/workerlog." + std::to_string(rank)},
             .log_begin = 100});
    return out;
}

JobStatus running() {
    return {.record = {.job = "mine",
                       .host = "n1",
                       .pid = 9,
                       .engine = "srun",
                       .scheduler = "slurm",
                       .scheduler_job = "12",
                       .program = "t.py",
                       .log_dir = "/log",
                       .size = 3,
                       .hosts = {"n1", "n2"}},
            .state = "starting",
            .view = view_of(planned(), two_ranks_one_failed(), false, 1)};
}

JobStatus pending() {
    return {.record = {.job = "13",
                       .scheduler = "slurm",
                       .scheduler_job = "13",
                       .program = "u.py",
                       .log_dir = "/log/13"},
            .state = "pending",
            .why = "Resources"};
}

TEST(JobView, TellsWhatEventsTold) {
    const auto view = *running().view;
    EXPECT_EQ(view.state, "starting");
    EXPECT_EQ(view.up, 1);
    EXPECT_EQ(view.ended, 1);
    EXPECT_THAT(view.ranks, ElementsAre(testing::Field(&RankView::state, "running"),
                                        testing::Field(&RankView::state, "failed"),
                                        testing::Field(&RankView::state, "starting")));
    EXPECT_EQ(view.ranks[1].host, "n2") << "as the rank itself told";
    EXPECT_EQ(view.ranks[2].host, "10.0.0.1") << "as it was planned";
    EXPECT_EQ(view_of({}, two_ranks_one_failed(), true, 0).state, "stopping");
    EXPECT_EQ(parse_view(to_json(view)), view);
    EXPECT_EQ(parse_view("{}"), std::nullopt);
}

TEST(JobStatus, TableOfJobs) {
    EXPECT_EQ(status_table({running(), pending()}, 3723 * second),
              "JOB   STATE     ENGINE  NODES  UP   ENDED  ELAPSED  PROGRAM  LOG_DIR\n"
              "mine  starting  srun    2      1/3  1      1:02:03  t.py     /log\n"
              "13    pending   slurm   -      -    -      -        u.py     /log/13\n"
              "13 is pending: Resources\n");
}

TEST(JobStatus, RankByRank) {
    EXPECT_EQ(status_text(running(), 59 * second),
              "JOB   STATE     ENGINE  NODES  UP   ENDED  ELAPSED  PROGRAM  LOG_DIR\n"
              "mine  starting  srun    2      1/3  1      0:59     t.py     /log\n"
              "launcher: pid 9 on n1, slurm job 12, started again 1 times\n"
              "\n"
              "RANK  ROLE     HOST      PID  STATE     END          LOG\n"
              "0     trainer  n1        11   running   -            /log/workerlog.0\n"
              "1     trainer  n2        12   failed    exit code 7  /log/workerlog.1\n"
              "2     trainer  10.0.0.1  -    starting  -            /log/workerlog.2\n");
}

TEST(JobStatus, ForProgramsAndBack) {
    const std::vector<JobStatus> jobs{running(), pending()};
    EXPECT_EQ(parse_statuses(to_json(jobs)), jobs);
    EXPECT_THAT(parse_statuses("Welcome to node1!\n"), testing::IsEmpty());
}

TEST(JobStatus, WordsThatNameNoJobOrSeveral) {
    EXPECT_EQ(no_such_job("x", {}), "no job of yours is called x; none is running");
    const auto first = running().record;
    auto second_job = first;
    second_job.pid = 10;
    EXPECT_EQ(no_such_job("x\n", {first, pending().record}),
              "no job of yours is called x\\n; known are mine, 13");
    EXPECT_EQ(several_jobs("mine", {first, second_job}),
              "2 jobs are called mine; name one of them: mine@n1:9, mine@n1:10");
}

TEST(Elsewhere, CommandsAreQuotedForTheShellThere) {
    EXPECT_EQ(command_by_ssh("n1", "/home/a b/jobs", {"/opt/bin/dtrain-launch", "logs", "it's"}).back(),
              "env DTRAIN_JOBS_DIR='/home/a b/jobs' /opt/bin/dtrain-launch logs 'it'\\''s'");
    EXPECT_THAT(command_by_ssh("n1", "/jobs", {"dtrain-launch"}), testing::IsSupersetOf({"--", "n1"}));
}

TEST(Elsewhere, NoMachineIsAnOption) {
    const tests::TemporaryFolder folder;
    const auto proof = folder / "was-run";
    tests::write_bytes(folder / "ssh", "#!/bin/sh\ntouch '" + proof.string() + "'\n");
    std::filesystem::permissions(folder / "ssh", std::filesystem::perms::owner_all);
    auto record = running().record;
    record.host = "-oProxyCommand=sh";
    const Way way(record, folder.path(), Environment{{"PATH", folder.path().string() + ":/usr/bin:/bin"}});
    EXPECT_THAT(way.obstacle(), testing::HasSubstr("\"-oProxyCommand=sh\""));
    EXPECT_FALSE(std::filesystem::exists(proof));
}

}  // namespace
}  // namespace dtrain::launch
