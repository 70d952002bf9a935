// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what somebody would type to get these ranks, by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "spawn/launch_command.hpp"
#include "spawn/spawn_request.hpp"
#include "support/message_of.hpp"

namespace dtrain::spawning {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const SpawnFolder folder("/tmp/s");

TEST(LaunchCommand, RanksOnTheCpu) {
    EXPECT_THAT(
        launch_command("/p/bin/dtrain-launch", {3, "", false}, {}, folder, {"/p/train", "--lr", "0.1"}),
        ElementsAre("/p/bin/dtrain-launch", "--no-banner", "--tee", "all", "--engine", "mpirun", "--ips",
                    "127.0.0.1", "--nproc_per_node", "3", "--backend", "auto", "--log_dir", "/tmp/s/log",
                    "--report", "/tmp/s/report.json", "/p/train", "--lr", "0.1"));
}

TEST(LaunchCommand, RanksOnGpusWithLogs) {
    EXPECT_THAT(launch_command("dtrain-launch", {2, "4,5", false}, {.backend = "nccl", .log_dir = "logs"},
                               folder, {"/p/train"}),
                ElementsAre("dtrain-launch", "--no-banner", "--tee", "all", "--engine", "mpirun", "--ips",
                            "127.0.0.1", "--nproc_per_node", "2", "--backend", "nccl", "--log_dir", "logs",
                            "--report", "/tmp/s/report.json", "--gpus", "4,5", "/p/train"));
}

TEST(LaunchEnvironment, SaysWhichCallItIs) {
    const auto environment =
        launch_environment({{"A", "1"}, {"CUDA_VISIBLE_DEVICES", "4,5"}, {"PADDLE_NUM_TRAINERS", "2"}},
                           {2, "4,5", false}, 3, folder);
    EXPECT_EQ(environment,
              (Environment{{"A", "1"}, {"CUDA_VISIBLE_DEVICES", "4,5"}, {"DTRAIN_SPAWN", "3:/tmp/s"}}));
}

TEST(LaunchEnvironment, HidesTheAllocation) {
    EXPECT_EQ(launch_environment({{"PBS_JOBID", "1"}, {"SLURMY", "2"}, {"SLURM_JOB_NODELIST", "a,b"}},
                                 {2, "", false}, 0, folder),
              (Environment{{"SLURMY", "2"}, {"DTRAIN_SPAWN", "0:/tmp/s"}}));
}

TEST(LaunchEnvironment, HidesGpus) {
    EXPECT_EQ(launch_environment({{"CUDA_VISIBLE_DEVICES", "4,5"}}, {2, "", true}, 0, folder),
              (Environment{{"CUDA_VISIBLE_DEVICES", ""}, {"DTRAIN_SPAWN", "0:/tmp/s"}}));
}

TEST(SpawnRequest, IsReadAsItWasWritten) {
    const auto request = SpawnRequest::parse(SpawnRequest{12, SpawnFolder("/tmp/with:colon")}.to_text());
    EXPECT_EQ(request.call, 12U);
    EXPECT_EQ(request.folder.path(), "/tmp/with:colon");
}

TEST(SpawnRequest, WhatSpawnHasNotWrittenIsRefused) {
    for (const char* text : {"", "1", "x:/tmp", ":/tmp", "-1:/tmp"})
        EXPECT_THAT(tests::message_of<UsageError>([&] { SpawnRequest::parse(text); }),
                    HasSubstr("DTRAIN_SPAWN"))
            << text;
}

TEST(FindLauncher, TheVariableWins) {
    EXPECT_EQ(find_launcher({{"DTRAIN_LAUNCH", "/x/dtrain-launch"}}), "/x/dtrain-launch");
}

}  // namespace
}  // namespace dtrain::spawning
