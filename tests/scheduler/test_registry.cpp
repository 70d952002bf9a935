// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what --scheduler's help says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/registry.hpp"

namespace dtrain::scheduler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Scheduler, IsTheOnlyOneThereOrTheOneThatWasNamed) {
    const auto* slurm = find("slurm");
    const auto* pbs = find("pbs");
    EXPECT_EQ(choose("auto", {slurm}).scheduler, slurm);
    EXPECT_EQ(choose("auto", {pbs}).scheduler, pbs);
    EXPECT_EQ(choose("auto", {}).scheduler, slurm);
    EXPECT_EQ(choose("pbs", {slurm, pbs}).scheduler, pbs);
    for (const auto* named : {"slurm", "pbs"}) EXPECT_EQ(choose(named, {slurm, pbs}).notice, "") << named;
    EXPECT_EQ(choose("auto", {slurm}).notice, "");
    const auto both = choose("auto", {slurm, pbs});
    EXPECT_EQ(both.scheduler, slurm);
    EXPECT_EQ(both.notice,
              "sbatch and qsub are both here: the job is for Slurm; --scheduler pbs makes it one for PBS");
}

TEST(Scheduler, OfAJobIsTheOneWhoseVariableIsThere) {
    EXPECT_EQ(of_this_job({}), nullptr);
    EXPECT_EQ(of_this_job({{"SLURM_JOB_ID", "12"}}), find("slurm"));
    EXPECT_EQ(of_this_job({{"PBS_JOBID", "12.server"}}), find("pbs"));
    EXPECT_EQ(of_this_job({{"SLURM_JOB_ID", ""}, {"PBS_JOBID", "12.server"}}), find("pbs"));
}

TEST(Scheduler, NobodyKnowsAnotherName) {
    EXPECT_EQ(find("lsf"), nullptr);
    EXPECT_EQ(ask_queue("lsf", {"12"}, {}), std::nullopt);
    EXPECT_THAT(choices(), ElementsAre("auto", "slurm", "pbs"));
}

}  // namespace
}  // namespace dtrain::scheduler
