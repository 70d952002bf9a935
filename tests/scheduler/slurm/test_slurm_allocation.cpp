// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: variables and `scontrol show job --details` as Slurm 22.05 gave them to batch scripts and salloc on
// nodes with two GPUs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "scheduler/slurm/slurm.hpp"
#include "scheduler/slurm/slurm_allocation.hpp"

namespace dtrain::scheduler {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

Environment batch_script() {
    return {{"SLURM_JOB_ID", "4"},
            {"SLURM_JOB_NODELIST", "node[1-2]"},
            {"SLURM_TASKS_PER_NODE", "1(x2)"},
            {"SLURM_GPUS_ON_NODE", "2"},
            {"SLURM_JOB_GPUS", "0,1"},
            {"SLURM_PROCID", "0"},
            {"SLURM_LOCALID", "0"},
            {"SLURM_NODEID", "0"},
            {"SLURM_NNODES", "2"},
            {"CUDA_VISIBLE_DEVICES", "0,1"}};
}

TEST(SlurmAllocation, OfABatchScript) {
    EXPECT_EQ(slurm_allocation(batch_script()),
              (Allocation{.job_id = "4", .nodes = {{"node1", 1}, {"node2", 1}}, .gpus_of_node = 2}));
}

TEST(SlurmAllocation, WithTasksAskedFor) {
    auto environment = batch_script();
    environment.set("SLURM_NTASKS", "3");
    environment.set("SLURM_TASKS_PER_NODE", "2,1");
    EXPECT_EQ(slurm_allocation(environment), (Allocation{.job_id = "4",
                                                         .nodes = {{"node1", 2}, {"node2", 1}},
                                                         .task_count_requested = true,
                                                         .gpus_of_node = 2}));
}

TEST(SlurmAllocation, OfSallocWithoutGpus) {
    const auto found = slurm_allocation({{"SLURM_JOB_ID", "9"}, {"SLURM_JOB_NODELIST", "node3"}});
    EXPECT_EQ(found, (Allocation{.job_id = "9", .nodes = {{"node3", 1}}}));
}

TEST(SlurmAllocation, GpusAsEachVariableTells) {
    const Environment job{{"SLURM_JOB_ID", "9"}, {"SLURM_JOB_NODELIST", "node3"}};
    const auto gpus = [&](const char* name, const char* value) {
        auto environment = job;
        environment.set(name, value);
        return slurm_allocation(environment)->gpus_of_node;
    };
    EXPECT_EQ(gpus("SLURM_GPUS_ON_NODE", "4"), 4);
    EXPECT_EQ(gpus("SLURM_GPUS_PER_NODE", "a100:8"), 8);
    EXPECT_EQ(gpus("SLURM_JOB_GPUS", "2,5,7"), 3);
    EXPECT_EQ(gpus("SLURM_GPUS_PER_NODE", "many"), std::nullopt);
}

TEST(SlurmAllocation, NoneOutsideAndNoneInATaskOfAStep) {
    EXPECT_EQ(slurm_allocation({}), std::nullopt);
    EXPECT_EQ(slurm_allocation({{"SLURM_JOB_ID", "9"}}), std::nullopt);
    auto task = batch_script();
    task.set("SLURM_STEP_ID", "0");
    task.set("SLURM_NTASKS", "2");
    EXPECT_EQ(slurm_allocation(task), std::nullopt);
    task.set("SLURM_STEP_ID", "4294967290");  // the interactive shell of salloc
    EXPECT_TRUE(slurm_allocation(task));
}

TEST(SlurmTask, IsWhatSrunStarted) {
    const Slurm slurm;
    EXPECT_FALSE(slurm.own_task({}));
    auto task = batch_script();
    EXPECT_FALSE(slurm.own_task(task));
    task.set("SLURM_STEP_ID", "0");
    task.set("SLURM_NTASKS", "2");
    ASSERT_TRUE(slurm.own_task(task));
    EXPECT_EQ(slurm.own_task(task)->started_by, "srun");
    EXPECT_EQ(slurm.own_task(task)->count, 2);
    EXPECT_EQ(slurm.job_id(task), "4");
}

TEST(SlurmAllocation, CountsThatDoNotFitAreNamed) {
    auto environment = batch_script();
    environment.set("SLURM_TASKS_PER_NODE", "1(x3)");
    EXPECT_THAT([&] { slurm_allocation(environment); },
                ThrowsMessage<UsageError>(HasSubstr("SLURM_TASKS_PER_NODE=1(x3)")));
}

TEST(SlurmAllocation, GpusThatScontrolTells) {
    EXPECT_EQ(gpus_of_node("   JOB_GRES=gpu:4\n     Nodes=node[1-2] CPU_IDs=0 Mem=0 GRES=gpu:2(IDX:0-1)\n"),
              2);
    EXPECT_EQ(
        gpus_of_node("     Nodes=a CPU_IDs=0 Mem=0 GRES=gpu:a100:4(IDX:0-3)\n"
                     "     Nodes=b CPU_IDs=0 Mem=0 GRES=gpu:a100:1(IDX:0),gpu:t4:2(IDX:4,6),nic:1(IDX:0)\n"),
        3);
    EXPECT_EQ(gpus_of_node("     Nodes=a CPU_IDs=0 Mem=0 GRES=\n"), 0);
    EXPECT_EQ(gpus_of_node("slurm_load_jobs error: Invalid job id specified\n"), 0);
}

TEST(OtherComponents, AreNamedInHeterogeneousJobs) {
    Environment job{{"SLURM_JOB_NODELIST", "node1"},
                    {"SLURM_HET_SIZE", "2"},
                    {"SLURM_JOB_NODELIST_HET_GROUP_0", "node1"},
                    {"SLURM_JOB_NODELIST_HET_GROUP_1", "node[2-3]"}};
    EXPECT_THAT(Slurm().warnings(job),
                testing::ElementsAre(HasSubstr(
                    "has 2 components; only node1 is used, and node[2-3] is left to other programs")));
    job.unset("SLURM_HET_SIZE");
    EXPECT_THAT(Slurm().warnings(job), testing::IsEmpty());
}

}  // namespace
}  // namespace dtrain::scheduler
