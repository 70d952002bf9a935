// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what `mpirun --version` and `mpiexec --version` of the named releases print; command lines written
// by hand from Open MPI's manual pages of 4.1 and 5.0.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/backend/mpirun/mpirun.hpp"
#include "launch/backend/worker_environment.hpp"
#include "protocol/assignment.hpp"

namespace dtrain::launch {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

Plan two_ranks() {
    RankPlan first{.rank = 0, .local_rank = 0, .gpus = {"4"}};
    first.assignment = {
        .cpus = CpuSet::parse("0-3"), .numa_nodes = {0}, .devices = {0}, .threads = 4, .adapter = "mlx5_0"};
    RankPlan second{.rank = 1, .local_rank = 1, .gpus = {"6"}};
    second.assignment = {.cpus = CpuSet::parse("4-7"), .numa_nodes = {1}, .devices = {1}, .threads = 4};
    return {.job_id = "night",
            .nodes = {{.host = "127.0.0.1", .cuda_visible_devices = "4,6", .ranks = {first, second}}},
            .endpoints = {.trainers = {"127.0.0.1:6170", "127.0.0.1:6171"},
                          .paddle_master = "127.0.0.1:6172",
                          .master_addr = "127.0.0.1",
                          .master_port = 6173},
            .program = {"python3", "-u", "my train.py", "--lr=$LR; rm *"},
            .log_dir = "/my logs"};
}

TEST(Mpirun, VersionsOfOpenMpi) {
    EXPECT_EQ(parse_mpirun_version(
                  "mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/\n"),
              (MpirunVersion{4, 1, 4}));
    EXPECT_EQ(parse_mpirun_version("mpirun (Open MPI) 5.0.3\n\nReport bugs to https://www.open-mpi.org/\n"),
              (MpirunVersion{5, 0, 3}));
    EXPECT_EQ(parse_mpirun_version("mpirun (Open MPI) 5.0.0rc12\n"), (MpirunVersion{5, 0}));
    EXPECT_EQ(parse_mpirun_version("mpirun (Open MPI) 4.1.7a1\n"), (MpirunVersion{4, 1, 7}));
    EXPECT_EQ(parse_mpirun_version("mpirun (Open MPI) 10.12.0\n"), (MpirunVersion{10, 12}));
    EXPECT_EQ(parse_mpirun_version("warning: no IPv6\nmpirun (Open MPI) 4.0.5\n"), (MpirunVersion{4, 0, 5}));
}

// `printf a; echo b >&2` under each of these, from PyPI and Debian 13.
TEST(Mpirun, VersionsThatMixStreams) {
    for (const int patch : {7, 8, 9, 10}) EXPECT_TRUE(mixes_streams({5, 0, patch})) << patch;
    for (const MpirunVersion sound : {MpirunVersion{4, 1, 4}, MpirunVersion{5, 0, 11}})
        EXPECT_FALSE(mixes_streams(sound));
}

TEST(Mpirun, WhatIsNoOpenMpi) {
    for (const char* output :
         {"", "\n", "mpirun", "HYDRA build details:\n    Version:                                 4.0.2\n",
          "Intel(R) MPI Library for Linux* OS, Version 2021.10 Build 20230619\n", "mpiexec version 1.3.1\n",
          "mpirun (Open MPI) ", "mpirun (Open MPI) four.one", "mpirun (Open MPI) 4", "mpirun (Open MPI) 4.",
          "mpirun (Open MPI) .1.4", "mpirun (Open MPI)", "Open MPI 4.1.4", "\xff\xfe\x1b[0m"})
        EXPECT_EQ(parse_mpirun_version(output), std::nullopt) << output;
}

TEST(Mpirun, RanksThatAreNotNumberedNodeByNodeAreToldTheirHosts) {
    const Plan plan{.nodes = {{.host = "a", .ranks = {{.rank = 0}, {.rank = 1}, {.rank = 3}}},
                              {.host = "b", .ranks = {{.rank = 2}}}},
                    .own_node = 0,
                    .program = {"train"},
                    .log_dir = "log",
                    .working_dir = "/home/ada"};
    std::vector<std::string> command{"mpirun",
                                     "--hostfile",
                                     "h",
                                     "--bind-to",
                                     "none",
                                     "--map-by",
                                     "slot:OVERSUBSCRIBE",
                                     "--leave-session-attached"};
    // A dead node is noticed after 5 s and three answers that do not come within 2 s each.
    for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
             {"plm_rsh_args", "-o BatchMode=yes -o ConnectTimeout=10 --"},
             {"oob_tcp_keepalive_time", "5"},
             {"oob_tcp_keepalive_intvl", "2"},
             {"oob_tcp_keepalive_probes", "3"}})
        command.insert(command.end(), {"--mca", name, value});
    for (const auto& [host, ranks] :
         std::vector<std::pair<std::string, std::string>>{{"a:2", "2"}, {"b:1", "1"}, {"a:1", "1"}}) {
        if (command.back() == "train") command.emplace_back(":");
        command.insert(command.end(), {"--host", host, "--wdir", "/home/ada", "-x", "PATH", "-np", ranks, "w",
                                       "--log_dir", "log", "--grace", "1", "--", "train"});
    }
    EXPECT_EQ(mpirun_command(plan, "h", {.worker = "w"}, {.grace = 1s}, {"PATH"}, {4, 1}), command);
    // mpirun 5.0 gets one part, and finds each rank's node in the hostfile.
    const auto by_rank = mpirun_command(plan, "h", {.worker = "w"}, {.grace = 1s}, {"PATH"}, {5, 0});
    EXPECT_THAT(by_rank, testing::Not(testing::Contains(":")));
    EXPECT_EQ(std::vector(by_rank.begin() + 5, by_rank.begin() + 7),
              (std::vector<std::string>{"--map-by", "seq:OVERSUBSCRIBE"}));
    EXPECT_EQ(std::vector(by_rank.end() - 9, by_rank.end()),
              (std::vector<std::string>{"-np", "4", "w", "--log_dir", "log", "--grace", "1", "--", "train"}));
    EXPECT_EQ(mpirun_hostfile(plan), "a\na\nb\na\n");
}

TEST(Mpirun, CommandForOpenMpi4And5) {
    for (const MpirunVersion version : {MpirunVersion{4, 1}, MpirunVersion{5, 0}})
        EXPECT_THAT(
            mpirun_command(two_ranks(), "/my logs/hostfile", {.worker = "/opt/dtrain/bin/dtrain-worker"},
                           {.grace = 1500ms}, {}, version),
            ElementsAre("mpirun", "--hostfile", "/my logs/hostfile", "--bind-to", "none", "--map-by",
                        "slot:OVERSUBSCRIBE", "-np", "2", "/opt/dtrain/bin/dtrain-worker", "--log_dir",
                        "/my logs", "--grace", "1.5", "--", "python3", "-u", "my train.py",
                        "--lr=$LR; rm *"));
}

TEST(Mpirun, ServersAndWorkersAreOnePart) {
    auto plan = two_ranks();
    plan.mode = RunMode::parameter_server;
    plan.servers = cluster::ServerJob{.servers = {"127.0.0.1:1"}, .workers = {"127.0.0.1:2", "127.0.0.1:3"}};
    plan.nodes[0].ranks[0].role = cluster::Role::server;
    plan.nodes[0].ranks[1].role = cluster::Role::worker;
    plan.nodes[0].ranks.push_back({.rank = 2, .role = cluster::Role::worker, .index = 1});
    plan.program = {"a"};
    EXPECT_THAT(
        mpirun_command(plan, "h", {.worker = "w"}, {.grace = 1s}, {}, {4, 1}),
        ElementsAre("mpirun", "--hostfile", "h", "--bind-to", "none", "--map-by", "slot:OVERSUBSCRIBE", "-np",
                    "3", "w", "--log_dir", "/my logs", "--grace", "1", "--", "a"));
    const auto environment =
        worker_environment(plan, {.backend = ProgramBackend::gloo, .with_gloo = 2}, "01234567", false);
    EXPECT_EQ(environment.get("DTRAIN_RUN_MODE"), "ps");
    EXPECT_EQ(environment.get("DTRAIN_SERVERS"), "127.0.0.1:1");
    EXPECT_EQ(environment.get("DTRAIN_WORKERS"), "127.0.0.1:2,127.0.0.1:3");
    EXPECT_EQ(environment.get("DTRAIN_BACKEND"), "gloo");
    EXPECT_EQ(environment.get("PADDLE_WITH_GLOO"), "2");
    EXPECT_FALSE(environment.has("DTRAIN_ENDPOINTS"));
}

TEST(Mpirun, OfASchedulersRemoteShellIsReachedByTheAgent) {
    auto plan = two_ranks();
    plan.nodes.push_back({.host = "node2"});
    plan.remote_shell = "/opt/pbs/bin/pbs_tmrsh";
    EXPECT_THAT(
        mpirun_command(plan, "h", {.worker = "w", .remote_shell = "/opt/remote_shell"}, {}, {}, {4, 1}),
        testing::IsSupersetOf({"plm_rsh_agent", "/opt/remote_shell --by /opt/pbs/bin/pbs_tmrsh",
                               "plm_rsh_no_tree_spawn", "plm_rsh_num_concurrent"}));
}

TEST(Mpirun, NodesWithLaunchersNeedNotHaveNode0sFolder) {
    auto plan = two_ranks();
    plan.nodes.push_back({.host = "node2", .ranks = {RankPlan{.rank = 2}}});
    plan.working_dir = "/home/a";
    const auto folder_of_mpirun = [](const Plan& of) {
        const auto argv = mpirun_command(of, "h", {.worker = "w"}, {}, {}, {4, 1});
        return *std::next(std::find(argv.begin(), argv.end(), "--wdir"));
    };
    EXPECT_EQ(folder_of_mpirun(plan), "/home/a");
    EXPECT_FALSE(worker_environment(plan, {}, "0123456789", false).has("DTRAIN_WORKING_DIR"));
    plan.followed = true;
    EXPECT_EQ(folder_of_mpirun(plan), "/");
    EXPECT_EQ(worker_environment(plan, {}, "0123456789", false).get("DTRAIN_WORKING_DIR"), "/home/a");
}

TEST(Mpirun, HostsOfOneNodeNeedNoRemoteShell) {
    EXPECT_EQ(mpirun_hostfile(two_ranks()), "localhost slots=2\n");
}

TEST(Mpirun, OnOneNodeAsksNoSchedulerForNodes) {
    auto plan = two_ranks();
    const topology::Machine machine{.is_this_system = false};
    EXPECT_EQ(mpirun_variables(plan, machine, {}),
              (Environment{{"PRTE_MCA_ras", "^slurm,pbs,gridengine,lsf,flux"}}));
    EXPECT_EQ(mpirun_variables(plan, machine, {{"PRTE_MCA_ras", "slurm"}}), Environment{});
    plan.nodes.push_back({.host = "node2"});
    EXPECT_EQ(mpirun_variables(plan, machine, {}), Environment{});
}

TEST(Mpirun, LeavesOutThePciBusWhereNoRankChoosesADevice) {
    const auto leaves_it_out = [](const topology::Machine& machine, const Environment& environment = {}) {
        const auto variables = mpirun_variables(two_ranks(), machine, environment);
        const bool told = variables.get("HWLOC_COMPONENTS") == "-pci,-linuxio";
        EXPECT_EQ(variables.get_or("DTRAIN_MPIRUNS_VARIABLE", ""), told ? "HWLOC_COMPONENTS" : "");
        return told;
    };
    topology::Machine machine{.numa_nodes = {{}}, .adapters = {{.name = "eth0"}}};
    EXPECT_TRUE(leaves_it_out({}));
    EXPECT_TRUE(leaves_it_out(machine));
    EXPECT_FALSE(leaves_it_out(machine, {{"HWLOC_COMPONENTS", "-cuda"}}));
    EXPECT_FALSE(leaves_it_out(machine, {{"HWLOC_XMLFILE", "node.xml"}}));
    EXPECT_FALSE(leaves_it_out({.gpus = {{}}}));
    EXPECT_FALSE(leaves_it_out({.is_this_system = false}));
    machine.adapters.push_back({.name = "eth1"});
    EXPECT_FALSE(leaves_it_out(machine));
    EXPECT_FALSE(leaves_it_out({.numa_nodes = {{}, {}}}));

    auto plan = two_ranks();
    plan.nodes.push_back({.host = "node2"});
    EXPECT_EQ(mpirun_variables(plan, {}, {}), Environment{});
}

TEST(MpirunNames, OfIPv6AddressesAreStandInsAndThisMachineIsItself) {
    auto plan = two_ranks();
    plan.nodes = {{.host = "fd00::1"}, {.host = "fd00::2"}, {.host = "node3"}};
    plan.own_node = 0;
    EXPECT_THAT(mpirun_names(plan), ElementsAre("127.0.0.1", "127.1.0.2", "node3"));
}

TEST(Mpirun, HostsOfSeveralNodesInOrder) {
    auto plan = two_ranks();
    plan.nodes.front().host = "node2";
    plan.nodes.push_back({.host = "node1", .ranks = {RankPlan{.rank = 2}}});
    EXPECT_EQ(mpirun_hostfile(plan), "node2 slots=2\nnode1 slots=1\n");
}

TEST(WorkerEnvironment, OfAGpuJob) {
    EXPECT_EQ(worker_environment(two_ranks(), {}, "0123456789abcdef", false),
              (Environment{{"DTRAIN_EVENTS", "1"},
                           {"DTRAIN_JOB_ID", "night.01234567"},
                           {"DTRAIN_JOB_TOKEN", "0123456789abcdef"},
                           {"DTRAIN_BIND", "apply"},
                           {"DTRAIN_RUN_MODE", "collective"},
                           {"DTRAIN_ENDPOINTS", "127.0.0.1:6170,127.0.0.1:6171"},
                           {"DTRAIN_MASTER", "127.0.0.1:6172"},
                           {"DTRAIN_TORCH_MASTER", "127.0.0.1:6173"},
                           {"DTRAIN_HOSTS", "127.0.0.1"},
                           {"DTRAIN_VISIBLE", "4,6"},
                           {"DTRAIN_CPUS", "0-3;4-7"},
                           {"DTRAIN_NUMA", "0;1"},
                           {"DTRAIN_GPUS", "0;1"},
                           {"DTRAIN_THREADS", "4;4"},
                           {"DTRAIN_SHARED", "0;0"},
                           {"DTRAIN_ADAPTER", "mlx5_0;"}}));
}

TEST(WorkerEnvironment, OfACpuJobByRootWithoutBinding) {
    auto plan = two_ranks();
    plan.bind = false;
    plan.nodes.front().cuda_visible_devices = "";
    for (auto& rank : plan.nodes.front().ranks) rank.assignment.devices.clear();
    const auto environment = worker_environment(plan, {}, "0123456789abcdef", true);
    EXPECT_FALSE(environment.has("DTRAIN_VISIBLE"));
    EXPECT_EQ(environment.get("DTRAIN_BIND"), "none");
    EXPECT_EQ(environment.get("DTRAIN_GPUS"), ";");
    EXPECT_EQ(environment.get("OMPI_ALLOW_RUN_AS_ROOT"), "1");
    EXPECT_EQ(environment.get("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"), "1");
}

TEST(WorkerEnvironment, GivesTheWorkersTheirPlanBack) {
    const auto plan = two_ranks();
    const auto read = cluster::read_assignments(worker_environment(plan, {}, "0123456789abcdef", false), 0);
    ASSERT_TRUE(read);
    EXPECT_THAT(*read, ElementsAre(plan.nodes[0].ranks[0].assignment, plan.nodes[0].ranks[1].assignment));
}

}  // namespace
}  // namespace dtrain::launch
