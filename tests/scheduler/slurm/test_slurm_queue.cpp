// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: output in the format of squeue's manual page, put together by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/slurm/slurm.hpp"

namespace dtrain::scheduler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using State = QueuedJob::State;

TEST(Squeue, TellsWhyAJobWaitsAndWhereItRuns) {
    EXPECT_THAT(parse_squeue("12|PENDING|n/a|Resources\n"
                             "13|RUNNING|node3|None\n"
                             "14|PENDING|n/a|None\n"
                             "15_3|COMPLETING|node1|None\n"
                             "16|CANCELLED|n/a|None\n"),
                ElementsAre(QueuedJob{.number = "12", .state = State::pending, .why = "Resources"},
                            QueuedJob{.number = "13", .state = State::running, .host = "node3"},
                            QueuedJob{.number = "14", .state = State::pending},
                            QueuedJob{.number = "15_3", .state = State::running, .host = "node1"},
                            QueuedJob{.number = "16", .state = State::ended}));
    EXPECT_THAT(parse_squeue(""), IsEmpty());
    EXPECT_THAT(parse_squeue("slurm_load_jobs error: Unable to contact slurm controller\n"), IsEmpty());
}

TEST(Slurm, CancelsByTheScriptOrTheJob) {
    EXPECT_THAT(Slurm().cancel_command("12", true), ElementsAre("scancel", "--batch", "--signal=TERM", "12"));
    EXPECT_THAT(Slurm().cancel_command("12", false), ElementsAre("scancel", "12"));
}

TEST(Slurm, ReachesANodeInsideOfTheJob) {
    EXPECT_THAT(Slurm().command_on_node("n1.cluster", "12", {"dtrain-launch", "status"}),
                testing::AllOf(testing::Contains("--overlap"), testing::Contains("--nodelist=n1"),
                               testing::Contains("--jobid=12")));
}

}  // namespace
}  // namespace dtrain::scheduler
