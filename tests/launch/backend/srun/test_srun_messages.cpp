// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: messages copied from runs of srun 22.05.
#include <gtest/gtest.h>

#include "launch/backend/srun/srun_messages.hpp"

namespace dtrain::launch {
namespace {

TEST(RanksNamedBySrun, TheFirstThatDied) {
    EXPECT_EQ(ranks_named_by_srun("srun: error: node2: task 2: Killed\n"
                                  "srun: launch/slurm: _step_signal: Terminating StepId=16.0\n"
                                  "srun: error: node1: tasks 0-1: Exited with exit code 137\n"),
              cluster::RankList::parse("2"));
    EXPECT_EQ(ranks_named_by_srun("noise\nsrun: error: n1: tasks 0-1,7: Segmentation fault (core dumped)\n"),
              cluster::RankList::parse("0-1,7"));
}

TEST(RanksNamedBySrun, NobodyOtherwise) {
    for (const char* text :
         {"", "srun: error: node2: task", "srun: error: node2: task x: Killed",
          "srun: error: Unable to create step for job 15: Invalid generic resource",
          "srun: error: task 0 launch failed: Unspecified error", "error: node2: task 2: Killed"})
        EXPECT_EQ(ranks_named_by_srun(text), std::nullopt) << text;
}

TEST(NodeFailedForSrun, IsNamed) {
    EXPECT_EQ(node_failed_for_srun("noise\nsrun: error: Node failure on node2\nsrun: Job step aborted\n"),
              "node2");
    EXPECT_EQ(node_failed_for_srun("salloc: error: Node failure on node2\n"), std::nullopt);
    EXPECT_EQ(node_failed_for_srun(""), std::nullopt);
}

TEST(CancelledBySlurm, WhenAndWhy) {
    EXPECT_EQ(cancelled_by_slurm(
                  "srun: Job step aborted: Waiting up to 7 seconds for job step to finish.\n"
                  "slurmstepd-node1: error: *** STEP 1.0 ON node1 CANCELLED AT 2026-11-25T14:28:55 ***\n"),
              "Slurm cancelled the job at 2026-11-25T14:28:55: scancel");
    EXPECT_EQ(cancelled_by_slurm(
                  "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-25T14:28:55 DUE TO TIME LIMIT "
                  "***\n"),
              "Slurm cancelled the job at 2026-11-25T14:28:55: time limit");
    for (const char* other :
         {"", " CANCELLED AT ***", "*** STEP 1.0 CANCELLED AT", "CANCELLED AT 1 ***", "*** STEP 1 ***"})
        EXPECT_EQ(cancelled_by_slurm(other), std::nullopt) << other;
}

}  // namespace
}  // namespace dtrain::launch
