// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what `srun --mpi=list` and `squeue --steps` of Slurm 22.05 print; command lines written by hand
// from srun's manual page; plans worked out by hand for allocations as sbatch and salloc describe them.
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "identity/address.hpp"
#include "launch/backend/srun/srun.hpp"
#include "launch/backend/srun/srun_backend.hpp"
#include "launch/backend/worker_environment.hpp"
#include "launch/machines.hpp"
#include "support/refuses.hpp"

namespace dtrain::launch {
namespace {

using scheduler::Allocation;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using tests::refuses;

struct Where {
    Allocation allocation;
    Environment environment;
    std::set<std::string> own_addresses{"login"};
};

Allocation two_nodes(std::optional<int> gpus = std::nullopt) {
    return {.job_id = "77", .nodes = {{"node1", 1}, {"node2", 1}}, .gpus_of_node = gpus};
}

Plan plan_for(const std::string& words, const Where& where) {
    auto arguments = words.empty() ? std::vector<std::string>{} : split(words, ' ');
    arguments.push_back("train.py");
    auto options = parse_options(arguments, where.environment).options;
    options.job_id = where.allocation.job_id;
    return make_plan({.options = options,
                      .environment = where.environment,
                      .machine = machines::laptop(),
                      .program = {"python3", "-u", "my train.py"},
                      .log_dir = "/my logs",
                      .allocation = where.allocation,
                      .engine = "srun",
                      .by_schedulers_daemons = true,
                      .own_addresses = where.own_addresses,
                      .ports = {.any =
                                    [](int count) {
                                        std::vector<int> ports(static_cast<std::size_t>(count));
                                        std::iota(ports.begin(), ports.end(), 50000);
                                        return ports;
                                    },
                                .exactly = [](const std::vector<int>&) {}}});
}

std::vector<std::vector<int>> devices_of(const Plan& plan) {
    std::vector<std::vector<int>> out;
    for (const auto* rank : plan.ranks()) out.push_back(rank->assignment.devices);
    return out;
}

TEST(Srun, OffersPmix) {
    EXPECT_TRUE(
        offers_pmix("MPI plugin types are...\n\tpmix\n\tnone\n\tcray_shasta\n\tpmi2\n"
                    "specific pmix plugin versions available: pmix_v4\n"));
    EXPECT_TRUE(offers_pmix("srun: MPI types are...\nsrun: pmi2\nsrun: pmix\n"));
    EXPECT_FALSE(offers_pmix("MPI plugin types are...\n\tnone\n\tpmi2\n"));
    EXPECT_FALSE(offers_pmix(""));
}

TEST(Srun, CommandOfAGpuJob) {
    const auto plan = plan_for("--grace 1.5", {.allocation = two_nodes(2)});
    EXPECT_THAT(srun_command(plan,
                             {.hostfile = "/my logs/hostfile",
                              .worker = "/opt/bin/dtrain-worker",
                              .step_name = "dtrain.1",
                              .pmix = true},
                             {.grace = std::chrono::milliseconds(1500)}),
                ElementsAre("srun", "--ntasks=4", "--distribution=arbitrary", "--nodelist=/my logs/hostfile",
                            "--overlap", "--overcommit", "--cpu-bind=none", "--gpus-per-node=2", "--mpi=pmix",
                            "--kill-on-bad-exit=1", "--wait=0", "--export=ALL", "--job-name=dtrain.1",
                            "/opt/bin/dtrain-worker", "--log_dir", "/my logs", "--grace", "1.5", "--",
                            "python3", "-u", "my train.py"));
    EXPECT_EQ(srun_hostfile(plan), "node1\nnode1\nnode2\nnode2\n");
}

TEST(Srun, CommandOfACpuJobWithoutPmix) {
    const auto plan = plan_for("", {.allocation = two_nodes()});
    EXPECT_THAT(srun_command(plan, {.hostfile = "/h", .worker = "w", .step_name = "s"}, {.quiet = true}),
                ElementsAre("srun", "--ntasks=2", "--distribution=arbitrary", "--nodelist=/h", "--overlap",
                            "--overcommit", "--cpu-bind=none", "--kill-on-bad-exit=1", "--wait=0",
                            "--export=ALL", "--job-name=s", "w", "--log_dir", "/my logs", "--grace", "10",
                            "--show", "none", "--", "python3", "-u", "my train.py"));
}

TEST(Srun, WorkersGetPositionsAndListenToLines) {
    const auto plan = plan_for("", {.allocation = two_nodes(2)});
    const auto environment = worker_environment(plan, {}, "0123456789", false);
    EXPECT_TRUE(SrunBackend().control("77", "0123456789").by_lines);
    EXPECT_EQ(environment.get("DTRAIN_GPUS"), "2*0;1");
    EXPECT_EQ(environment.get("DTRAIN_SELECT"), "all");
    EXPECT_EQ(environment.get("DTRAIN_HOSTS"), "node1:2,node2:2");
    for (const char* name : {"DTRAIN_CPUS", "DTRAIN_NUMA", "DTRAIN_THREADS", "DTRAIN_VISIBLE"})
        EXPECT_FALSE(environment.has(name)) << name;
}

TEST(Srun, WhatSbatchAskedForDoesNotChangeTheStep) {
    const auto environment = srun_environment({{"SLURM_NTASKS", "1"},
                                               {"SLURM_GPUS_PER_TASK", "1"},
                                               {"SLURM_UNBUFFEREDIO", "1"},
                                               {"SLURM_JOB_ID", "77"},
                                               {"PATH", "/bin"}});
    EXPECT_EQ(environment, (Environment{{"SLURM_JOB_ID", "77"}, {"PATH", "/bin"}}));
}

TEST(SrunPlan, OneRankPerGpuWithOneTaskANode) {
    auto allocation = two_nodes(4);
    allocation.task_count_requested = true;
    const auto plan = plan_for("", {.allocation = allocation});
    EXPECT_EQ(plan.size(), 8);
    EXPECT_THAT(plan.nodes[1].ranks[3].gpus, ElementsAre("3"));
    EXPECT_THAT(plan.warnings, IsEmpty());
    EXPECT_EQ(plan.job_id, "77");
    EXPECT_EQ(plan.own_node, std::nullopt) << "salloc on the machine where people log in";
}

TEST(SrunPlan, SeveralTasksANodeAreTheRanks) {
    Allocation allocation{.job_id = "77", .nodes = {{"a", 3}, {"b", 1}}, .task_count_requested = true};
    const auto plan = plan_for("", {.allocation = allocation});
    EXPECT_EQ(srun_hostfile(plan), "a\na\na\nb\n");
    EXPECT_EQ(plan.endpoints.trainers.size(), 4U);
    EXPECT_TRUE(plan.endpoints.trainers[3].starts_with("b:"));
    allocation.gpus_of_node = 3;
    EXPECT_THAT(devices_of(plan_for("", {.allocation = allocation})),
                ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2), ElementsAre(0, 1, 2)));
}

TEST(SrunPlan, TasksThatDoNotDivideTheGpusAreRefused) {
    Allocation allocation{
        .job_id = "77", .nodes = {{"a", 3}, {"b", 3}}, .task_count_requested = true, .gpus_of_node = 4};
    EXPECT_THAT([&] { plan_for("", {.allocation = allocation}); },
                refuses("3 tasks and 4 GPUs", "--nproc_per_node"));
    EXPECT_EQ(plan_for("--nproc_per_node 2", {.allocation = allocation}).size(), 4);
}

TEST(SrunPlan, AFewOfTheGpusByTheirPositions) {
    const Where batch{.allocation = two_nodes(4), .environment = {{"CUDA_VISIBLE_DEVICES", "0,1,2,3"}}};
    const auto plan = plan_for("--gpus 3,1", batch);
    EXPECT_THAT(devices_of(plan),
                ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(0), ElementsAre(1)));
    EXPECT_EQ(plan.gpus_of_node, 4) << "what the step asks Slurm for";
    const auto environment = worker_environment(plan, {}, "0123456789", false);
    EXPECT_EQ(environment.get("DTRAIN_SELECT"), "3,1");
}

TEST(SrunPlan, NoGpusWithoutAnyInTheAllocation) {
    const auto plan = plan_for("--nproc_per_node 2", {.allocation = two_nodes(0)});
    EXPECT_THAT(devices_of(plan), testing::Each(IsEmpty()));
    const auto environment = worker_environment(plan, {}, "0123456789", false);
    EXPECT_EQ(environment.get("DTRAIN_GPUS"), "2*;") << "and the workers take none by themselves";
    EXPECT_FALSE(environment.has("DTRAIN_SELECT"));
}

TEST(SrunPlan, OneOwnNodeHasPortsOfTheKernelsChoice) {
    Allocation one{.job_id = "77", .nodes = {{"node1", 2}}, .task_count_requested = true};
    const auto first_port = [](const Plan& plan) {
        return cluster::port_of(plan.endpoints.trainers.front());
    };
    const auto local_plan = plan_for("", {.allocation = one, .own_addresses = {"node1"}});
    EXPECT_EQ(first_port(local_plan), 50000);
    const auto remote_plan = plan_for("", {.allocation = one});
    EXPECT_LT(first_port(remote_plan), 30000) << "this machine's free ports say nothing there";
    EXPECT_TRUE(local_plan.free_ports && remote_plan.free_ports) << "when one is taken, others will do";
}

TEST(SrunPlan, JobsOnTheSameNodesUseOtherPorts) {
    auto other = two_nodes();
    other.job_id = "78";
    EXPECT_NE(plan_for("", {.allocation = two_nodes()}).endpoints.trainers,
              plan_for("", {.allocation = other}).endpoints.trainers);
}

TEST(SrunPlan, ServersAndWorkersTakeTheNodesInTurn) {
    const auto plan = plan_for("--server_num 2 --worker_num 3", {.allocation = two_nodes(2)});
    EXPECT_EQ(srun_hostfile(plan), "node1\nnode2\nnode1\nnode2\nnode1\n");
    EXPECT_THAT(devices_of(plan),
                ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(0), ElementsAre(0), ElementsAre(1)));
    const auto environment = worker_environment(plan, {}, "0123456789", false);
    EXPECT_EQ(environment.get("DTRAIN_GPUS"), ";0;1|;0");
    EXPECT_EQ(environment.get("DTRAIN_NODES_OF_RANKS"), "0|1|0|1|0");
    const auto command = srun_command(plan, {.hostfile = "/h", .worker = "w", .step_name = "s"}, {});
    EXPECT_THAT(command, testing::Contains("--ntasks=5"));
    EXPECT_THAT(command, testing::Not(testing::Contains("--role"))) << "one command for all";
}

TEST(SrunPlan, NnodesMustBeTheAllocations) {
    EXPECT_EQ(plan_for("--nnodes 2", {.allocation = two_nodes()}).nodes.size(), 2U);
    EXPECT_THAT([] { plan_for("--nnodes 3", {.allocation = two_nodes()}); },
                refuses("--nnodes 3", "job 77 has 2"));
}

TEST(SrunPlan, IsShownWithItsHostfile) {
    const auto plan = plan_for("", {.allocation = two_nodes()});
    EXPECT_THAT(to_table(plan, {"srun"}), HasSubstr("/my logs/hostfile: node1; node2\n"));
    EXPECT_THAT(to_json(plan, {"srun"}, {}),
                AllOf(HasSubstr("\"engine\": \"srun\""), HasSubstr("\"hostfile\": \"node1\\nnode2\\n\"")));
}

}  // namespace
}  // namespace dtrain::launch
