// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what --engine's help says; the output of `squeue --noheader --steps --format='%i %j'` of
// Slurm 22.05.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "launch/plan/engine.hpp"
#include "launch/plan/nodes.hpp"
#include "support/refuses.hpp"

namespace dtrain::launch {
namespace {

using tests::refuses;

TEST(Engine, SrunInAnAllocationElseMpirun) {
    EXPECT_EQ(choose_engine("auto", true, true), Engine::srun);
    EXPECT_EQ(choose_engine("auto", false, true), Engine::mpirun);
    EXPECT_EQ(choose_engine("auto", true, false), Engine::mpirun) << "a container without Slurm's programs";
    EXPECT_EQ(choose_engine("mpirun", true, true), Engine::mpirun);
    EXPECT_EQ(choose_engine("srun", true, true), Engine::srun);
}

TEST(Engine, SrunThatCannotBeIsRefused) {
    EXPECT_THAT([] { choose_engine("srun", false, true); }, refuses("allocation"));
    EXPECT_THAT([] { choose_engine("srun", true, false); }, refuses("not in PATH"));
}

TEST(Engine, RanksBehindSrunAreNeverReachedBySignals) {
    const auto control = RankControl::of_srun({.job_id = "12", .name = "dtrain.ab"});
    EXPECT_TRUE(control.by_lines);
    EXPECT_EQ(control.death_signal, 0) << "SIGTERM would make it kill the ranks without grace";
    EXPECT_EQ(control.at_once, SIGTERM) << "srun kills its tasks by it, and passes others on";
    EXPECT_EQ(control.step->job_id, "12");
    EXPECT_EQ(RankControl::of_mpirun().death_signal, SIGTERM);
    EXPECT_EQ(RankControl::of_mpirun().at_once, SIGKILL);
}

TEST(SlurmStep, IsFoundByItsName) {
    EXPECT_EQ(find_step("12.batch batch\n12.extern extern\n12.3 dtrain.ab\n12.4 dtrain.abc\n", "dtrain.abc"),
              "12.4");
    EXPECT_EQ(find_step("12.4 dtrain.abc\n12.3 dtrain.ab\n", "dtrain.ab"), "12.3");
    EXPECT_EQ(find_step(" 12.3   dtrain.ab \n", "dtrain.ab"), "12.3");
    for (const char* output :
         {"", "\n", "12.3 dtrain.a\n", "slurm_load_job_steps error: Invalid job id specified\n"})
        EXPECT_EQ(find_step(output, "dtrain.ab"), std::nullopt) << output;
}

TEST(UsesAllocation, UnlessOtherNodesAreNamed) {
    const cluster::Allocation allocation{.job_id = "12", .nodes = {{"node1", 1}, {"node2", 1}}};
    const auto uses = [&](const Options& options, const Environment& environment = {}) {
        return uses_allocation(options, environment, allocation);
    };
    EXPECT_TRUE(uses({}));
    EXPECT_TRUE(uses({.master = "10.0.0.1:6170", .nnodes = "2"}));
    EXPECT_FALSE(uses({.ips = "node1,node2"}));
    EXPECT_FALSE(uses({.hostfile = "hosts"}));
    EXPECT_TRUE(uses({.servers = "node1:6170", .workers = "node1:6171,node2:6170"}));
    EXPECT_TRUE(uses({.servers = "node1", .workers = "node2", .heter_workers = "node1;node2"}));
    EXPECT_FALSE(uses({.servers = "node1:6170", .workers = "10.0.0.2:6171"}));
}

}  // namespace
}  // namespace dtrain::launch
