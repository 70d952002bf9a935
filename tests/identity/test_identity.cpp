// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: environments captured from real launchers, whose ranks were placed on nodes as the captures' names
// say, and for contradictions the launchers' documented meaning of their variables.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/cluster.hpp>
#include <dtrain/error.hpp>

#include "identity/captured.hpp"

namespace dtrain::cluster {
namespace {

using testing::HasSubstr;
using HostNames = std::vector<std::string>;
using Counts = std::vector<int>;

constexpr ProcessIds processes{4711, 4700};

struct Rank {
    int rank;
    int local_rank;
    int local_size;
    int node_rank;
};

struct CapturedJob {
    const char* name;
    Launcher launcher;
    const char* job_id;
    int nodes;
    HostNames hosts;
    Counts ranks_of_node;
    std::vector<Rank> expected;
};

void PrintTo(const CapturedJob& job, std::ostream* out) {
    *out << job.name;
}

const Counts unknown;
const std::vector<Rank> two_on_one{{0, 0, 2, 0}, {1, 1, 2, 0}};
const std::vector<Rank> two_on_each_of_two{{0, 0, 2, 0}, {1, 1, 2, 0}, {2, 0, 2, 1}, {3, 1, 2, 1}};
const std::vector<Rank> three_one_one{{0, 0, 3, 0}, {1, 1, 3, 0}, {2, 2, 3, 0}, {3, 0, 1, 1}, {4, 0, 1, 2}};
const HostNames n123{"n01", "n02", "n03"};

const std::vector<CapturedJob> captured_jobs{
    {"open_mpi_4", Launcher::open_mpi, nullptr, 1, {}, {2}, two_on_one},
    {"open_mpi_4_two_nodes", Launcher::open_mpi, "1923153921", 2, {}, {2, 2}, two_on_each_of_two},
    {"open_mpi_5", Launcher::open_mpi, "prterun-vm-7870@1", 1, {}, {2}, two_on_one},
    {"open_mpi_5_two_nodes", Launcher::open_mpi, "prterun-vm-7808@1", 2, {}, {2, 2}, two_on_each_of_two},
    {"hydra_4", Launcher::hydra, "hydra-4700", 1, {}, {2}, two_on_one},
    {"hydra_4_two_nodes", Launcher::hydra, "hydra-4-ranks", 2, {}, {2, 2}, two_on_each_of_two},
    {"hydra_5", Launcher::hydra, "hydra-4700", 1, {}, {2}, two_on_one},
    {"hydra_5_two_nodes", Launcher::hydra, "hydra-4-ranks", 2, {}, {2, 2}, two_on_each_of_two},
    {"slurm_step", Launcher::slurm, "1.0", 3, n123, {3, 1, 1}, three_one_one},
    {"slurm_part_of_job",
     Launcher::slurm,
     "1.1",
     2,
     {"n01", "n02"},
     {2, 1},
     {{0, 0, 2, 0}, {1, 1, 2, 0}, {2, 0, 1, 1}}},
    {"slurm_pmi2", Launcher::slurm, "1.3", 3, n123, {3, 1, 1}, three_one_one},
    {"slurm_pmix", Launcher::slurm, "1.4", 3, n123, {3, 1, 1}, {{0, 0, 3, 0}, {1, 1, 3, 0}, {2, 2, 3, 0}}},
    {"slurm_salloc_step",
     Launcher::slurm,
     nullptr,
     2,
     {"n01", "n02"},
     {3, 1},
     {{0, 0, 3, 0}, {1, 1, 3, 0}, {2, 2, 3, 0}, {3, 0, 1, 1}}},
    {"open_mpi_4_under_slurm", Launcher::open_mpi, "1295646721", 3, n123, {3, 1, 1}, three_one_one},
    {"hydra_4_under_slurm", Launcher::hydra, "1", 3, n123, {3, 1, 1}, three_one_one},
};

class Captured : public testing::TestWithParam<CapturedJob> {};

TEST_P(Captured, EveryRankKnowsItsPlace) {
    const auto& job = GetParam();
    const auto ranks = captured_environments().at(job.name);
    ASSERT_EQ(ranks.size(), job.expected.size());
    for (const auto& known : job.expected) {
        SCOPED_TRACE(known.rank);
        const auto identity = identify(ranks.at(known.rank), processes);
        EXPECT_EQ(identity.launcher, job.launcher);
        EXPECT_EQ(identity.rank, known.rank);
        // One capture holds a part of its ranks: the step was stopped while it started.
        EXPECT_EQ(identity.size, std::string(job.name) == "slurm_pmix" ? 5 : static_cast<int>(ranks.size()));
        EXPECT_EQ(identity.local_rank, known.local_rank);
        EXPECT_EQ(identity.local_size, known.local_size);
        EXPECT_EQ(identity.node_rank, known.node_rank);
        EXPECT_EQ(identity.nodes, job.nodes);
        EXPECT_EQ(identity.hosts, job.hosts);
        EXPECT_EQ(identity.ranks_of_node, job.ranks_of_node);
        EXPECT_EQ(identity.job_id,
                  job.job_id != nullptr ? job.job_id : identify(ranks.at(0), processes).job_id);
        EXPECT_FALSE(identity.job_id.empty());
    }
}

INSTANTIATE_TEST_SUITE_P(Jobs, Captured, testing::ValuesIn(captured_jobs),
                         [](const auto& param) { return std::string(param.param.name); });

TEST(Identity, RoundRobinUnderSlurmIsNotTakenForBlocks) {
    const auto ranks = captured_environments().at("slurm_cyclic");
    const std::vector<Rank> expected{{0, 0, 3, 0}, {1, 0, 1, 1}, {2, 0, 1, 2}, {3, 1, 3, 0}, {4, 2, 3, 0}};
    for (const auto& known : expected) {
        SCOPED_TRACE(known.rank);
        const auto identity = identify(ranks.at(known.rank));
        EXPECT_EQ(identity.local_rank, known.local_rank);
        EXPECT_EQ(identity.local_size, known.local_size);
        EXPECT_EQ(identity.node_rank, known.node_rank);
        EXPECT_EQ(identity.hosts, n123);
        EXPECT_EQ(identity.ranks_of_node, unknown);
    }
}

TEST(Identity, SomeRankSeesThatAJobIsNotNumberedNodeByNode) {
    for (const char* name : {"open_mpi_4_two_nodes_by_node", "open_mpi_4_two_nodes_uneven"}) {
        SCOPED_TRACE(name);
        bool seen = false;
        for (const auto& [rank, environment] : captured_environments().at(name)) {
            const auto identity = identify(environment);
            EXPECT_EQ(identity.rank, rank);
            EXPECT_TRUE(identity.hosts.empty());
            seen = seen || identity.ranks_of_node.empty();
        }
        EXPECT_TRUE(seen);
    }
    for (const auto& [rank, environment] : captured_environments().at("open_mpi_4_two_nodes_uneven"))
        EXPECT_EQ(identify(environment).ranks_of_node, unknown) << rank;
}

TEST(Identity, ShellsOfSlurmAreNoRanks) {
    Identity alone;
    alone.job_id = "local-4711";
    alone.ranks_of_node = {1};
    for (const char* name : {"slurm_batch_shell", "slurm_salloc_shell"})
        EXPECT_EQ(identify(captured_environments().at(name).at(0), processes), alone) << name;
    EXPECT_EQ(identify({}, processes), alone);

    auto batch = captured_environments().at("slurm_step").at(3);
    // The batch script's and salloc's interactive shell's own step ids, as numbers and as newer versions
    // print them.
    for (const char* step : {"4294967291", "4294967290", "batch", "interactive", ""}) {
        batch.set("SLURM_STEP_ID", step);
        EXPECT_EQ(identify(batch, processes), alone) << step;
    }
}

TEST(Identity, ReadsPals) {
    const Environment rank{{"PALS_RANKID", "5"},      {"PALS_NODEID", "1"},    {"PALS_LOCAL_RANKID", "1"},
                           {"PALS_LOCAL_SIZE", "4"},  {"PMI_RANK", "5"},       {"PMI_SIZE", "8"},
                           {"PMI_LOCAL_RANK", "1"},   {"PMI_LOCAL_SIZE", "4"}, {"PALS_APID", "6f1c-07"},
                           {"PBS_JOBID", "77.server"}};
    const auto identity = identify(rank);
    EXPECT_EQ(identity, (Identity{Launcher::pals, 5, 8, 1, 4, 1, 2, "6f1c-07", {}, {4, 4}}));

    // Slurm's imitation of PALS leaves PALS_LOCAL_SIZE out.
    auto imitation = rank;
    imitation.unset("PALS_LOCAL_SIZE");
    EXPECT_EQ(identify(imitation), identity);

    auto elsewhere = rank;
    elsewhere.set("PALS_NODEID", "3");
    EXPECT_EQ(identify(elsewhere).node_rank, 3);
    EXPECT_EQ(identify(elsewhere).nodes, 4);
    EXPECT_EQ(identify(elsewhere).ranks_of_node, unknown);
}

TEST(Identity, ReadsDtrainsOwnBeforeAllOthers) {
    Environment environment = captured_environments().at("open_mpi_4").at(1);
    for (const auto& [name, value] : Environment{{"DTRAIN_RANK", "2"},
                                                 {"DTRAIN_SIZE", "3"},
                                                 {"DTRAIN_LOCAL_RANK", "0"},
                                                 {"DTRAIN_LOCAL_SIZE", "1"},
                                                 {"DTRAIN_JOB_ID", "mine"},
                                                 {"DTRAIN_HOSTS", "a,b,c"}})
        environment.set(name, value);
    EXPECT_EQ(identify(environment),
              (Identity{Launcher::dtrain, 2, 3, 0, 1, 2, 3, "mine", {"a", "b", "c"}, {1, 1, 1}}));
}

TEST(Identity, JobIdAndHostsOfDtrainLaunchCompleteTheLaunchers) {
    auto rank = captured_environments().at("open_mpi_5_two_nodes").at(3);
    rank.set("DTRAIN_JOB_ID", "job7");
    rank.set("DTRAIN_HOSTS", "10.0.0.1,10.0.0.2");
    const auto identity = identify(rank);
    EXPECT_EQ(identity.launcher, Launcher::open_mpi);
    EXPECT_EQ(identity.job_id, "job7");
    EXPECT_EQ(identity.hosts, (HostNames{"10.0.0.1", "10.0.0.2"}));
    EXPECT_EQ(identity.ranks_of_node, (Counts{2, 2}));

    rank.set("DTRAIN_HOSTS", "[fe80::1]:2,fe80::2");
    EXPECT_EQ(identify(rank).hosts, (HostNames{"fe80::1", "fe80::2"}));
}

TEST(Identity, CountsInHostsTellNodesWithUnequallyManyRanks) {
    const Counts nodes_of_ranks{0, 0, 1};
    for (auto [rank, environment] : captured_environments().at("open_mpi_4_two_nodes_uneven")) {
        environment.set("DTRAIN_HOSTS", "nodea:2,nodeb:1");
        const auto identity = identify(environment);
        EXPECT_EQ(identity.node_rank, nodes_of_ranks[static_cast<std::size_t>(rank)]);
        EXPECT_EQ(identity.nodes, 2);
        EXPECT_EQ(identity.ranks_of_node, (Counts{2, 1}));
        EXPECT_EQ(identity.hosts, (HostNames{"nodea", "nodeb"}));
    }
}

TEST(Identity, SchedulersHostsAreNotUsedWhereTheLauncherSaysOtherwise) {
    auto rank = captured_environments().at("open_mpi_4_two_nodes").at(3);
    rank.set("SLURM_JOB_NODELIST", "node[a,b]");
    EXPECT_THROW(identify(rank), UsageError);  // Slurm writes numbers in brackets
    rank.set("SLURM_JOB_NODELIST", "nodea,nodeb");
    EXPECT_EQ(identify(rank).hosts, (HostNames{"nodea", "nodeb"}));
    rank.set("SLURM_JOB_NODELIST", "nodeb,nodea");  // mpirun --host nodea,nodeb in that job
    EXPECT_EQ(identify(rank).hosts, HostNames{});
    rank.set("SLURM_JOB_NODELIST", "nodea,nodeb,nodec");
    EXPECT_EQ(identify(rank).hosts, HostNames{});
}

struct Contradiction {
    const char* capture;
    const char* name;
    const char* value;  // null: not set
    const char* message;
};

TEST(Identity, ContradictionsNameTheVariable) {
    const std::vector<Contradiction> contradictions{
        {"open_mpi_4", "OMPI_COMM_WORLD_RANK", "2",
         "OMPI_COMM_WORLD_RANK=2 is not below OMPI_COMM_WORLD_SIZE=2"},
        {"open_mpi_4", "OMPI_COMM_WORLD_RANK", "x", "OMPI_COMM_WORLD_RANK=x"},
        {"open_mpi_4", "OMPI_COMM_WORLD_RANK", "-1", "OMPI_COMM_WORLD_RANK=-1"},
        {"open_mpi_4", "OMPI_COMM_WORLD_SIZE", nullptr,
         "OMPI_COMM_WORLD_SIZE is not set although OMPI_COMM_WORLD_RANK=1"},
        {"open_mpi_4", "OMPI_COMM_WORLD_SIZE", "2147483647", "OMPI_COMM_WORLD_SIZE=2147483647 is over"},
        {"open_mpi_4", "OMPI_COMM_WORLD_SIZE", "99999999999", "OMPI_COMM_WORLD_SIZE=99999999999"},
        {"open_mpi_4", "OMPI_COMM_WORLD_LOCAL_SIZE", "0", "OMPI_COMM_WORLD_LOCAL_SIZE=0"},
        {"open_mpi_4", "OMPI_COMM_WORLD_LOCAL_SIZE", "3",
         "OMPI_COMM_WORLD_LOCAL_SIZE=3 is more than OMPI_COMM_WORLD_SIZE=2"},
        {"open_mpi_4", "OMPI_COMM_WORLD_LOCAL_RANK", "2", "OMPI_COMM_WORLD_LOCAL_RANK=2 is not below"},
        {"open_mpi_5", "PMIX_NAMESPACE", nullptr, "PMIX_NAMESPACE is not set"},
        {"open_mpi_5", "DTRAIN_HOSTS", "a,b", "DTRAIN_HOSTS=a,b does not fit rank 1 of 2"},
        {"open_mpi_5", "DTRAIN_HOSTS", "a,,b", "DTRAIN_HOSTS=a,,b: '' must be HOST or HOST:RANKS"},
        {"open_mpi_5", "DTRAIN_HOSTS", "a:0", "'a:0' must be HOST or HOST:RANKS"},
        {"hydra_4", "PMI_SIZE", "1", "PMI_RANK=1 is not below PMI_SIZE=1"},
        {"hydra_4", "MPI_LOCALNRANKS", nullptr, "MPI_LOCALNRANKS is not set"},
        {"slurm_step", "SLURM_PROCID", "5", "SLURM_PROCID=5 is not below SLURM_STEP_NUM_TASKS=5"},
        {"slurm_step", "SLURM_NODEID", "3", "SLURM_NODEID=3 is not below SLURM_STEP_NUM_NODES=3"},
        {"slurm_step", "SLURM_LOCALID", "3", "SLURM_LOCALID=3 is not below SLURM_STEP_TASKS_PER_NODE=3"},
        {"slurm_step", "SLURM_STEP_TASKS_PER_NODE", "2(x3)",
         "SLURM_STEP_TASKS_PER_NODE=2(x3) does not describe"},
        {"slurm_step", "SLURM_STEP_TASKS_PER_NODE", "3,1(x2", "SLURM_STEP_TASKS_PER_NODE=3,1(x2 "},
        {"slurm_step", "SLURM_STEP_TASKS_PER_NODE", "1(x2000000000)",
         "SLURM_STEP_TASKS_PER_NODE=1(x2000000000)"},
        {"slurm_step", "SLURM_STEP_TASKS_PER_NODE", "", "SLURM_STEP_TASKS_PER_NODE="},
        {"slurm_step", "SLURM_STEP_NODELIST", "n[01", "node list 'n[01'"},
    };
    for (const auto& wrong : contradictions) {
        SCOPED_TRACE(wrong.message);
        auto environment = captured_environments().at(wrong.capture).at(1);
        if (wrong.value != nullptr)
            environment.set(wrong.name, wrong.value);
        else
            environment.unset(wrong.name);
        try {
            identify(environment, processes);
            ADD_FAILURE() << "accepted";
        } catch (const UsageError& error) {
            EXPECT_THAT(error.what(), HasSubstr(wrong.message));
            EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
        }
    }
}

TEST(Identity, BarePmiNeedsToSayWhoSharesTheNode) {
    EXPECT_THROW(identify({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}), UsageError);
    EXPECT_EQ(identify({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}, processes).job_id, "hydra-4700");
    EXPECT_THROW(identify({{"PMI_RANK", "1"}, {"PMI_SIZE", "1"}}), UsageError);
    const auto cray = identify({{"PMI_RANK", "3"},
                                {"PMI_SIZE", "4"},
                                {"PMI_LOCAL_RANK", "1"},
                                {"PMI_LOCAL_SIZE", "2"},
                                {"PBS_JOBID", "9.pbs"}});
    EXPECT_EQ(cray, (Identity{Launcher::hydra, 3, 4, 1, 2, 1, 2, "9.pbs", {}, {2, 2}}));
}

TEST(Identity, OldSlurmWithoutStepVariablesIsRead) {
    auto rank = captured_environments().at("slurm_step").at(4);
    const auto expected = identify(rank);
    for (const char* name :
         {"SLURM_STEP_NUM_TASKS", "SLURM_STEP_NUM_NODES", "SLURM_STEP_TASKS_PER_NODE", "SLURM_STEP_NODELIST"})
        rank.unset(name);
    EXPECT_EQ(identify(rank), expected);
}

Identity on_node(int rank, int size, int local_rank, int local_size) {
    Environment environment{{"OMPI_COMM_WORLD_RANK", std::to_string(rank)},
                            {"OMPI_COMM_WORLD_SIZE", std::to_string(size)},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", std::to_string(local_rank)},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", std::to_string(local_size)},
                            {"PMIX_NAMESPACE", "j"}};
    return identify(environment);
}

TEST(WithHosts, PbsNodefileFilledInOrder) {
    const auto nodes = parse_hostfile("a\na\na\nb\nb\nc\n");
    // Every rank of 5 on slots 3, 2, 1: mpirun fills a, then b.
    const std::vector<Rank> expected{{0, 0, 3, 0}, {1, 1, 3, 0}, {2, 2, 3, 0}, {3, 0, 2, 1}, {4, 1, 2, 1}};
    for (const auto& known : expected) {
        SCOPED_TRACE(known.rank);
        const auto identity = with_hosts(on_node(known.rank, 5, known.local_rank, known.local_size), nodes);
        EXPECT_EQ(identity.node_rank, known.node_rank);
        EXPECT_EQ(identity.nodes, 2);
        EXPECT_EQ(identity.hosts, (HostNames{"a", "b"}));
        EXPECT_EQ(identity.ranks_of_node, (Counts{3, 2}));
    }
}

TEST(WithHosts, OneRankPerNodeOfLargeNodes) {
    const auto identity = with_hosts(on_node(1, 2, 0, 1), {{"a", 64}, {"b", 64}});
    EXPECT_EQ(identity.hosts, (HostNames{"a", "b"}));
    EXPECT_EQ(identity.node_rank, 1);
}

TEST(WithHosts, UnchangedWhenTheListDoesNotFit) {
    const auto uneven = on_node(0, 5, 0, 3);
    EXPECT_EQ(with_hosts(uneven, {{"a", 2}, {"b", 3}}), uneven);
    EXPECT_EQ(with_hosts(uneven, {}), uneven);
    const auto even = on_node(2, 4, 0, 2);
    EXPECT_EQ(with_hosts(even, {{"a", 1}, {"b", 1}, {"c", 1}}), even);
    EXPECT_EQ(with_hosts(even, {{"a", 2}, {"b", 2}}, "a"), even);
    EXPECT_EQ(with_hosts(even, {{"a", 2}, {"b", 2}}, "b").hosts, (HostNames{"a", "b"}));
    EXPECT_EQ(with_hosts(even, {{"a", 2}, {"b", 2}}, "not.listed").hosts, (HostNames{"a", "b"}));
}

TEST(Identity, LaunchersHaveNames) {
    EXPECT_EQ(to_string(Launcher::open_mpi), "Open MPI");
    EXPECT_EQ(to_string(Launcher::hydra), "MPICH/Intel MPI (hydra)");
    EXPECT_EQ(to_string(Launcher::slurm), "Slurm");
}

}  // namespace
}  // namespace dtrain::cluster
