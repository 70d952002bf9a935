// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: a table worked out by hand from the documented rules: physical ids, contiguous even parts, ranks
// near the same socket divide its cores in order, CPU ranks are spread over memory nodes. Read back through
// the JSON that programs get.
#include <functional>
#include <numeric>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "launch/machines.hpp"
#include "launch/plan/plan.hpp"
#include "support/refuses.hpp"

namespace dtrain::launch {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using tests::refuses;

using Rows = std::vector<std::string>;

constexpr int some_port = 50000;

Plan plan_with(const Options& options, const Environment& environment, const topology::Machine& machine) {
    return make_plan({.options = options,
                      .environment = environment,
                      .machine = machine,
                      .program = {"python3", "-u", "train.py"},
                      .log_dir = "/home/user/log",
                      .own_addresses = {"127.0.0.1", "192.168.0.1"},
                      .ports = {.any =
                                    [](int count) {
                                        std::vector<int> ports(static_cast<std::size_t>(count));
                                        std::iota(ports.begin(), ports.end(), some_port);
                                        return ports;
                                    },
                                .exactly = [](const std::vector<int>&) {}}});
}

Plan plan_for(const std::string& words, const Environment& environment, const topology::Machine& machine) {
    auto arguments = words.empty() ? std::vector<std::string>{} : split(words, ' ');
    arguments.push_back("train.py");
    return plan_with(parse_options(arguments, environment).options, environment, machine);
}

json planned(const std::string& words, const Environment& environment, const topology::Machine& machine) {
    return json::parse(to_json(plan_for(words, environment, machine), {"mpirun"}, {}));
}

/// What a rank got: its GPUs by the user's names, at which positions of the visible list, processors, memory
/// nodes, threads, adapter.
std::string row(const json& rank) {
    return fmt::format("{} at {} cpus {} mem {} threads {}{} {}",
                       rank["gpus"].empty() ? "cpu" : join(rank["gpus"].get<Rows>(), ","),
                       rank["devices"].dump(), rank["cpus"].get<std::string>(), rank["numa_nodes"].dump(),
                       rank["threads"].dump(), rank["shared"].get<bool>() ? " shared" : "",
                       rank["adapter"].get<std::string>());
}

Rows rows(const json& plan) {
    Rows out;
    for (const auto& rank : plan["nodes"][0]["ranks"]) out.push_back(row(rank));
    return out;
}

struct Case {
    std::string words;
    Environment environment;
    std::function<topology::Machine()> machine;
    std::string visible;
    Rows ranks;
};

Environment visible(const std::string& list) {
    return {{"CUDA_VISIBLE_DEVICES", list}};
}

const Rows a_rank_per_gpu{"0 at [0] cpus 0-3,32-35 mem [0] threads 4 mlx5_0",
                          "1 at [1] cpus 4-7,36-39 mem [0] threads 4 mlx5_0",
                          "2 at [2] cpus 8-11,40-43 mem [0] threads 4 mlx5_0",
                          "3 at [3] cpus 12-15,44-47 mem [0] threads 4 mlx5_0",
                          "4 at [4] cpus 16-19,48-51 mem [1] threads 4 mlx5_1",
                          "5 at [5] cpus 20-23,52-55 mem [1] threads 4 mlx5_1",
                          "6 at [6] cpus 24-27,56-59 mem [1] threads 4 mlx5_1",
                          "7 at [7] cpus 28-31,60-63 mem [1] threads 4 mlx5_1"};

const Rows a_rank_per_socket{"cpu at [] cpus 0-15,32-47 mem [0] threads 16 mlx5_0",
                             "cpu at [] cpus 16-31,48-63 mem [1] threads 16 mlx5_1"};

const Rows two_ranks_per_socket{"cpu at [] cpus 0-7,32-39 mem [0] threads 8 mlx5_0",
                                "cpu at [] cpus 8-15,40-47 mem [0] threads 8 mlx5_0",
                                "cpu at [] cpus 16-23,48-55 mem [1] threads 8 mlx5_1",
                                "cpu at [] cpus 24-31,56-63 mem [1] threads 8 mlx5_1"};

const Rows one_cpu_rank{"cpu at [] cpus 0-63 mem [0,1] threads 32 mlx5_0"};

topology::Machine few_cores_of_socket_0() {
    return topology::restricted(machines::eight_gpus(), CpuSet::parse("0-7,32-39"));
}

const std::vector<Case>& cases() {
    using namespace machines;
    static const std::vector<Case> table{
        // Devices by --gpus, or all.
        {"", {}, eight_gpus, "0,1,2,3,4,5,6,7", a_rank_per_gpu},
        {"--gpus 0,1,2,3,4,5,6,7", {}, eight_gpus, "0,1,2,3,4,5,6,7", a_rank_per_gpu},
        {"--gpus 0", {}, eight_gpus, "0", {"0 at [0] cpus 0-15,32-47 mem [0] threads 16 mlx5_0"}},
        {"--devices 5", {}, eight_gpus, "5", {"5 at [0] cpus 16-31,48-63 mem [1] threads 16 mlx5_1"}},
        {"--gpus 0,1",
         {},
         eight_gpus,
         "0,1",
         {"0 at [0] cpus 0-7,32-39 mem [0] threads 8 mlx5_0",
          "1 at [1] cpus 8-15,40-47 mem [0] threads 8 mlx5_0"}},
        {"--gpus 1,0",
         {},
         eight_gpus,
         "1,0",
         {"1 at [0] cpus 0-7,32-39 mem [0] threads 8 mlx5_0",
          "0 at [1] cpus 8-15,40-47 mem [0] threads 8 mlx5_0"}},
        {"--selected_gpus=7,0",
         {},
         eight_gpus,
         "7,0",
         {"7 at [0] cpus 16-31,48-63 mem [1] threads 16 mlx5_1",
          "0 at [1] cpus 0-15,32-47 mem [0] threads 16 mlx5_0"}},
        {"--gpus 0,1,4",
         {},
         eight_gpus,
         "0,1,4",
         {"0 at [0] cpus 0-7,32-39 mem [0] threads 8 mlx5_0",
          "1 at [1] cpus 8-15,40-47 mem [0] threads 8 mlx5_0",
          "4 at [2] cpus 16-31,48-63 mem [1] threads 16 mlx5_1"}},
        {"--gpus 1,2,3",
         {},
         eight_gpus,
         "1,2,3",
         {"1 at [0] cpus 0-5,32-37 mem [0] threads 6 mlx5_0",
          "2 at [1] cpus 6-10,38-42 mem [0] threads 5 mlx5_0",
          "3 at [2] cpus 11-15,43-47 mem [0] threads 5 mlx5_0"}},
        // Several devices a process.
        {"--nproc_per_node 4",
         {},
         eight_gpus,
         "0,1,2,3,4,5,6,7",
         {"0,1 at [0,1] cpus 0-7,32-39 mem [0] threads 8 mlx5_0",
          "2,3 at [2,3] cpus 8-15,40-47 mem [0] threads 8 mlx5_0",
          "4,5 at [4,5] cpus 16-23,48-55 mem [1] threads 8 mlx5_1",
          "6,7 at [6,7] cpus 24-31,56-63 mem [1] threads 8 mlx5_1"}},
        {"--nproc_per_node 2",
         {},
         eight_gpus,
         "0,1,2,3,4,5,6,7",
         {"0,1,2,3 at [0,1,2,3] cpus 0-15,32-47 mem [0] threads 16 mlx5_0",
          "4,5,6,7 at [4,5,6,7] cpus 16-31,48-63 mem [1] threads 16 mlx5_1"}},
        {"--nproc_per_node 2 --gpus 0,1,2,3",
         {},
         eight_gpus,
         "0,1,2,3",
         {"0,1 at [0,1] cpus 0-7,32-39 mem [0] threads 8 mlx5_0",
          "2,3 at [2,3] cpus 8-15,40-47 mem [0] threads 8 mlx5_0"}},
        {"--nproc-per-node=1",
         {},
         eight_gpus,
         "0,1,2,3,4,5,6,7",
         {"0,1,2,3,4,5,6,7 at [0,1,2,3,4,5,6,7] cpus 0-63 mem [0,1] threads 32 mlx5_0"}},
        {"--nproc_per_node 8", {}, eight_gpus, "0,1,2,3,4,5,6,7", a_rank_per_gpu},
        // What CUDA_VISIBLE_DEVICES leaves.
        {"--gpus 4,6",
         visible("4,5,6,7"),
         eight_gpus,
         "4,6",
         {"4 at [0] cpus 16-23,48-55 mem [1] threads 8 mlx5_1",
          "6 at [1] cpus 24-31,56-63 mem [1] threads 8 mlx5_1"}},
        {"",
         visible("7,3"),
         eight_gpus,
         "7,3",
         {"7 at [0] cpus 16-31,48-63 mem [1] threads 16 mlx5_1",
          "3 at [1] cpus 0-15,32-47 mem [0] threads 16 mlx5_0"}},
        {"",
         visible("2,9,3"),  // CUDA's list ends at the first entry that is no device
         eight_gpus,
         "2",
         {"2 at [0] cpus 0-15,32-47 mem [0] threads 16 mlx5_0"}},
        {"",
         visible("GPU-5f,GPU-2f"),
         eight_gpus,
         "GPU-5f,GPU-2f",
         {"GPU-5f at [0] cpus 16-31,48-63 mem [1] threads 16 mlx5_1",
          "GPU-2f at [1] cpus 0-15,32-47 mem [0] threads 16 mlx5_0"}},
        {"--gpus 2",
         visible("GPU-5f,GPU-2f"),
         eight_gpus,
         "GPU-2f",
         {"GPU-2f at [0] cpus 0-15,32-47 mem [0] threads 16 mlx5_0"}},
        {"--gpus GPU-5f --nproc_per_node 1",
         visible("GPU-5f,GPU-2f"),
         eight_gpus,
         "GPU-5f",
         {"GPU-5f at [0] cpus 16-31,48-63 mem [1] threads 16 mlx5_1"}},
        {"",
         visible("MIG-a1,MIG-b2"),
         eight_gpus_first_divided,
         "MIG-a1,MIG-b2",
         {"MIG-a1 at [0] cpus 0-7,32-39 mem [0] threads 8 mlx5_0",
          "MIG-b2 at [1] cpus 8-15,40-47 mem [0] threads 8 mlx5_0"}},
        {"", visible(""), eight_gpus, "", one_cpu_rank},
        {"--nproc_per_node 2", visible("-1"), eight_gpus, "", a_rank_per_socket},
        {"--nproc_per_node 4", visible(""), eight_gpus, "", two_ranks_per_socket},
        // Machines without GPUs.
        {"", {}, two_sockets, "", one_cpu_rank},
        {"--nproc_per_node 1", {}, two_sockets, "", one_cpu_rank},
        {"--nproc_per_node 2", {}, two_sockets, "", a_rank_per_socket},
        {"--nproc_per_node 4", {}, two_sockets, "", two_ranks_per_socket},
        {"",
         visible("0,1"),
         laptop,
         "0,1",
         {"0 at [0] cpus 0 mem [0] threads 1 ", "1 at [1] cpus 1 mem [0] threads 1 "}},
        {"--gpus 1", visible("0,1"), laptop, "1", {"1 at [0] cpus 0-1 mem [0] threads 2 "}},
        {"--nproc_per_node 2",
         {},
         laptop,
         "",
         {"cpu at [] cpus 0 mem [0] threads 1 ", "cpu at [] cpus 1 mem [0] threads 1 "}},
        {"--nproc_per_node 4", {}, laptop, "", Rows(4, "cpu at [] cpus 0-1 mem [0] threads 1 shared ")},
        // A scheduler gave only a part of socket 0.
        {"--gpus 0,1",
         {},
         few_cores_of_socket_0,
         "0,1",
         {"0 at [0] cpus 0-3,32-35 mem [0] threads 4 mlx5_0",
          "1 at [1] cpus 4-7,36-39 mem [0] threads 4 mlx5_0"}},
        {"--gpus 4,5",
         {},
         few_cores_of_socket_0,
         "4,5",
         {"4 at [0] cpus 0-3,32-35 mem [0] threads 4 mlx5_0",
          "5 at [1] cpus 4-7,36-39 mem [0] threads 4 mlx5_0"}},
    };
    return table;
}

std::string title(const Case& each) {
    return fmt::format("CUDA_VISIBLE_DEVICES={} dtrain-launch {}",
                       each.environment.get_or("CUDA_VISIBLE_DEVICES", "(unset)"), each.words);
}

TEST(Plan, Table) {
    ASSERT_GE(cases().size(), 25U);
    for (const auto& each : cases()) {
        SCOPED_TRACE(title(each));
        const auto plan = planned(each.words, each.environment, each.machine());
        EXPECT_EQ(rows(plan), each.ranks);
        EXPECT_EQ(plan["size"], each.ranks.size());
        EXPECT_EQ(plan["nodes"][0]["cuda_visible_devices"], each.visible);
    }
}

TEST(Plan, RanksCountOnAndHaveAPortEach) {
    for (const auto& each : cases()) {
        SCOPED_TRACE(title(each));
        const auto plan = planned(each.words, each.environment, each.machine());
        ASSERT_EQ(plan["nodes"].size(), 1U);
        int rank = 0;
        for (const auto& of_rank : plan["nodes"][0]["ranks"]) {
            EXPECT_EQ(of_rank["rank"], rank);
            EXPECT_EQ(of_rank["local_rank"], rank);
            EXPECT_EQ(of_rank["endpoint"], fmt::format("127.0.0.1:{}", some_port + rank));
            ++rank;
        }
        EXPECT_EQ(plan["paddle_master"], fmt::format("127.0.0.1:{}", some_port + rank));
        EXPECT_EQ(plan["master_addr"], "127.0.0.1");
        EXPECT_EQ(plan["master_port"], some_port + rank + 1);
    }
}

TEST(Plan, EachNodeCountsItsLocalRanksFrom0) {
    const auto plan =
        plan_for("--ips 192.168.0.1,192.168.0.2 --nproc_per_node 2", {}, machines::two_sockets());
    std::vector<int> ranks, local_ranks;
    for (const auto& node : plan.nodes)
        for (const auto& rank : node.ranks) {
            ranks.push_back(rank.rank);
            local_ranks.push_back(rank.local_rank);
        }
    EXPECT_THAT(ranks, ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(local_ranks, ElementsAre(0, 1, 0, 1));
}

/// As dtrain-run plans it, which has torchrun's meaning of GPUs.
json planned_for_torch(std::optional<int> processes, const Environment& environment,
                       const topology::Machine& machine, TorchRun torch = {}) {
    Options options{.nproc_per_node = processes,
                    .visible = VisibleGpus::keep,
                    .script = "train.py",
                    .torch = std::move(torch)};
    return json::parse(to_json(plan_with(options, environment, machine), {"mpirun"}, {}));
}

std::vector<std::string> gpus_of(const json& plan) {
    std::vector<std::string> out;
    for (const auto& rank : plan["nodes"][0]["ranks"]) out.push_back(join(rank["gpus"].get<Rows>(), ","));
    return out;
}

TEST(Plan, RanksOfTorchHaveTheFirstGpus) {
    const Environment last_four{{"CUDA_VISIBLE_DEVICES", "4,5,6,7"}};
    const auto two = planned_for_torch(2, last_four, machines::eight_gpus());
    EXPECT_THAT(gpus_of(two), ElementsAre("4", "5")) << "not all four, dealt out";
    EXPECT_EQ(two["nodes"][0]["cuda_visible_devices"], "4,5,6,7") << "as torchrun leaves it";
    EXPECT_THAT(gpus_of(planned_for_torch(std::nullopt, last_four, machines::eight_gpus())),
                ElementsAre("4", "5", "6", "7"));
    EXPECT_THAT(gpus_of(planned_for_torch(5, last_four, machines::eight_gpus())),
                ElementsAre("", "", "", "", ""))
        << "too few: CPU ranks";
    EXPECT_EQ(planned_for_torch(std::nullopt, {}, machines::laptop())["nodes"][0]["ranks"].size(),
              static_cast<std::size_t>(machines::laptop().allowed.count()));
    EXPECT_THAT([] { planned_for_torch(std::nullopt, {}, machines::laptop(), {.needs_gpus = true}); },
                refuses("--nproc-per-node gpu: no GPU is visible here"));
}

TEST(Plan, MasterPortOfTorchIsTheGivenOne) {
    const Options options{.nproc_per_node = 2, .script = "train.py", .torch = TorchRun{.master_port = 29501}};
    EXPECT_EQ(plan_with(options, {}, machines::laptop()).endpoints.master_port, 29501);
}

TEST(Plan, WithTheFirstPortGiven) {
    const auto plan = planned("--start_port 6170 --gpus 2,3", {}, machines::eight_gpus());
    EXPECT_EQ(plan["nodes"][0]["ranks"][0]["endpoint"], "127.0.0.1:6170");
    EXPECT_EQ(plan["nodes"][0]["ranks"][1]["endpoint"], "127.0.0.1:6171");
    EXPECT_EQ(plan["paddle_master"], "127.0.0.1:6172");
    EXPECT_EQ(plan["master_port"], 6173);
}

TEST(Plan, NoProcessorIsInTwoRanksUnlessShared) {
    for (const auto& each : cases()) {
        SCOPED_TRACE(title(each));
        const auto plan = plan_for(each.words, each.environment, each.machine());
        CpuSet taken;
        for (const auto& rank : plan.nodes.front().ranks) {
            EXPECT_FALSE(rank.assignment.cpus.empty());
            EXPECT_EQ(rank.assignment.cpus.intersects(taken), rank.assignment.shared && rank.rank > 0);
            taken = taken | rank.assignment.cpus;
        }
    }
}

TEST(Plan, BindsOnlyOnThisSystemAndUnlessToldNot) {
    auto of_a_file = machines::eight_gpus();
    of_a_file.is_this_system = false;
    EXPECT_EQ(planned("", {}, machines::eight_gpus())["bind"], true);
    EXPECT_EQ(planned("--bind auto", {}, machines::eight_gpus())["bind"], true);
    EXPECT_EQ(planned("--bind none", {}, machines::eight_gpus())["bind"], false);
    EXPECT_EQ(planned("", {}, of_a_file)["bind"], false);
    EXPECT_EQ(rows(planned("", {}, of_a_file)), a_rank_per_gpu);
}

TEST(Plan, WarnsOfGpusThatTheMachineDoesNotShow) {
    const auto of_all = plan_for("", visible("0,GPU-77"), machines::laptop());
    ASSERT_EQ(of_all.warnings.size(), 1U);
    EXPECT_THAT(of_all.warnings.front(), AllOf(HasSubstr("no GPU 0,GPU-77"), HasSubstr("without pinning")));
    EXPECT_THAT(of_all.nodes.front().ranks.front().reason, HasSubstr("does not show"));
    const auto of_one = plan_for("--gpus GPU-77", visible("0,GPU-77"), machines::laptop());
    ASSERT_EQ(of_one.warnings.size(), 1U);
    EXPECT_THAT(of_one.warnings.front(), HasSubstr("no GPU GPU-77,"));
    EXPECT_TRUE(plan_for("", visible("4,5"), machines::eight_gpus()).warnings.empty());
    EXPECT_TRUE(plan_for("", {}, machines::laptop()).warnings.empty());
}

TEST(Plan, Reasons) {
    const auto reasons = [](const std::string& words, const topology::Machine& machine) {
        Rows out;
        const auto plan = plan_for(words, {}, machine);
        for (const auto& rank : plan.nodes.front().ranks) out.push_back(rank.reason);
        return out;
    };
    EXPECT_THAT(reasons("--gpus 0,1,4", machines::eight_gpus()),
                ElementsAre("near GPU 0, cores divided among 2 ranks",
                            "near GPU 1, cores divided among 2 ranks", "near GPU 4"));
    EXPECT_THAT(reasons("--nproc_per_node 2", machines::eight_gpus()),
                ElementsAre("near GPUs 0,1,2,3", "near GPUs 4,5,6,7"));
    EXPECT_THAT(reasons("", machines::two_sockets()), ElementsAre("CPU rank"));
    EXPECT_THAT(reasons("--gpus 4", few_cores_of_socket_0()),
                ElementsAre("any core: none near GPU 4 is allowed here"));
}

TEST(Plan, WhatCannotBePlannedIsRefused) {
    struct Refused {
        std::string words;
        Environment environment;
        std::function<topology::Machine()> machine;
        std::string named;
    };
    using namespace machines;
    for (const auto& each : std::vector<Refused>{
             {"--gpus 0,9", {}, eight_gpus, "no GPU 9 here; visible are 0,1,2,3,4,5,6,7"},
             {"--gpus 0", visible("4,5"), eight_gpus, "no GPU 0 here; visible are 4,5"},
             {"--gpus 0,0", {}, eight_gpus, "named twice"},
             {"--gpus 0", {}, laptop, "no NVIDIA GPU is visible"},
             {"--gpus 0", visible(""), eight_gpus, "no NVIDIA GPU is visible"},
             {"--gpus every", {}, eight_gpus, "no GPU every"},
             {"--nproc_per_node 3 --gpus 0,1", {}, eight_gpus, "does not divide the 2 GPUs 0,1"},
             {"--nproc_per_node 3", {}, eight_gpus, "does not divide the 8 GPUs"},
             {"--nproc_per_node 0", {}, two_sockets, "a whole number in 1.."},
             {"--nproc_per_node -1", {}, two_sockets, "a whole number in 1.."},
             {"", visible("4,4"), eight_gpus, "same device"},
             {"", visible("GPU-"), eight_gpus, "beginning of several"}}) {
        EXPECT_THAT([&] { plan_for(each.words, each.environment, each.machine()); }, refuses(each.named))
            << each.words;
    }
}

TEST(Plan, JsonHoldsEverythingElseToo) {
    const auto plan = plan_for("--gpus 4 --job_id night", {}, machines::eight_gpus());
    const auto got = json::parse(to_json(plan, {"mpirun", "-np", "1"}, {{"DTRAIN_BIND", "apply"}}));
    EXPECT_EQ(got["job_id"], "night");
    EXPECT_EQ(got["log_dir"], "/home/user/log");
    EXPECT_EQ(got["program"], json({"python3", "-u", "train.py"}));
    EXPECT_EQ(got["command"], json({"mpirun", "-np", "1"}));
    EXPECT_EQ(got["environment"], json({{"DTRAIN_BIND", "apply"}}));
    EXPECT_EQ(got["warnings"], json::array());
    EXPECT_EQ(got["hostfile"], "localhost slots=1\n");
    EXPECT_EQ(got["nodes"][0]["host"], "127.0.0.1");
    EXPECT_EQ(got["nodes"][0]["ranks"][0]["reason"], "near GPU 4");
}

TEST(Plan, JsonOfBytesThatAreNoText) {
    auto plan = plan_for("", {}, machines::laptop());
    plan.program = {"python3", "caf\xe9.py"};
    EXPECT_EQ(json::parse(to_json(plan, {}, {}))["program"][1], "caf\uFFFD.py");
}

TEST(Plan, TableForPeople) {
    const auto plan = plan_for("--gpus 0,4", {}, machines::eight_gpus());
    EXPECT_EQ(
        to_table(plan, {"mpirun", "--hostfile", "/my logs/it's", ""}),
        "rank  node       local rank  GPU  cores        memory  threads  network  endpoint         why\n"
        "0     127.0.0.1  0           0    0-15,32-47   0       16       mlx5_0   127.0.0.1:50000  near GPU "
        "0\n"
        "1     127.0.0.1  1           4    16-31,48-63  1       16       mlx5_1   127.0.0.1:50001  near GPU "
        "4\n"
        "\n"
        "logs       /home/user/log/workerlog.<rank>\n"
        "master     127.0.0.1:50002 (PADDLE_MASTER), 127.0.0.1:50003 (MASTER_ADDR, MASTER_PORT)\n"
        "hostfile   /home/user/log/hostfile: localhost slots=2\n"
        "program    python3 -u train.py\n"
        "command    mpirun --hostfile '/my logs/it'\\''s' ''\n");
    const auto shared = to_table(plan_for("--nproc_per_node 4", visible("0,1,2,3"), machines::laptop()), {});
    EXPECT_THAT(shared, HasSubstr("0-1 (shared)  0       1        -        127.0.0.1:50000"));
    EXPECT_THAT(shared, HasSubstr("\nwarning    this machine shows no GPU 0,1,2,3"));
}

}  // namespace
}  // namespace dtrain::launch
