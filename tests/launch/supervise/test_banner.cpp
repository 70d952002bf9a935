// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the console output of fleetrun as Paddle's handbook prints it; its example row of a long value is
// copied.
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "launch/supervise/banner.hpp"

namespace dtrain::launch {
namespace {

constexpr const char* rule_of_87 =
    "=======================================================================================\n";
constexpr const char* dashes_of_87 =
    "---------------------------------------------------------------------------------------\n";

Plan on_nodes(const std::vector<std::string>& hosts, const std::string& gpus) {
    Plan plan;
    for (const auto& host : hosts) plan.nodes.push_back({.host = host, .cuda_visible_devices = gpus});
    return plan;
}

TEST(ConfigurationBanner, NamesTheNodesOfAScheduler) {
    const auto banner = configuration_banner({.script = "train.py"}, on_nodes({"n1", "n2"}, ""));
    EXPECT_NE(banner.find("\nips: n1,n2\n"), std::string::npos) << banner;
}

TEST(ConfigurationBanner, OfDefaults) {
    EXPECT_EQ(configuration_banner({.script = "train.py"}, on_nodes({"127.0.0.1"}, "0,1,2,3")),
              "-----------  Configuration Arguments -----------\n"
              "gpus: 0,1,2,3\n"
              "ips: 127.0.0.1\n"
              "log_dir: log\n"
              "server_num: None\n"
              "servers:\n"
              "training_script: train.py\n"
              "training_script_args: []\n"
              "worker_num: None\n"
              "workers:\n"
              "------------------------------------------------\n");
}

TEST(ConfigurationBanner, OfOptions) {
    EXPECT_EQ(configuration_banner({.log_dir = "/tmp/log",
                                    .job_id = "night",
                                    .log_overwrite = true,
                                    .nproc_per_node = 2,
                                    .server_num = 1,
                                    .servers = "a:1",
                                    .script = "train.py",
                                    .script_arguments = {"--batch_size=64", "a b"}},
                                   on_nodes({"127.0.0.1"}, "")),
              "-----------  Configuration Arguments -----------\n"
              "gpus: None\n"
              "ips: 127.0.0.1\n"
              "job_id: night\n"
              "log_dir: /tmp/log\n"
              "log_overwrite: True\n"
              "nproc_per_node: 2\n"
              "server_num: 1\n"
              "servers: a:1\n"
              "training_script: train.py\n"
              "training_script_args: ['--batch_size=64', 'a b']\n"
              "worker_num: None\n"
              "workers:\n"
              "------------------------------------------------\n");
}

TEST(DistributedEnvs, Table) {
    EXPECT_EQ(distributed_envs_table({{"PADDLE_CURRENT_ENDPOINT", "127.0.0.1:11330"},
                                      {"PADDLE_TRAINERS_NUM", "4"},
                                      {"FLAGS_selected_gpus", "0"},
                                      {"PADDLE_TRAINER_ENDPOINTS",
                                       "127.0.0.1:17901,127.0.0.1:11330,127.0.0.1:54803,127.0.0.1:49294"},
                                      {"PADDLE_TRAINER_ID", "0"}}),
              std::string(rule_of_87) + "            Distributed Envs              Value\n" + dashes_of_87 +
                  "PADDLE_CURRENT_ENDPOINT                   127.0.0.1:11330\n"
                  "PADDLE_TRAINERS_NUM                       4\n"
                  "FLAGS_selected_gpus                       0\n"
                  "PADDLE_TRAINER_ENDPOINTS                  ... 0.1:11330,127.0.0.1:54803,127.0.0.1:49294\n"
                  "PADDLE_TRAINER_ID                         0\n" +
                  rule_of_87);
}

TEST(DistributedEnvs, ValuesOf45LettersAreCut) {
    const std::string fits = "0123456789012345678901234567890123456789abcd";  // 44
    const auto line = [](const std::string& value) {
        return split(distributed_envs_table({{"NAME", value}}), '\n').at(3).substr(42);
    };
    EXPECT_EQ(line(fits), fits);
    EXPECT_EQ(line(fits + "e"), "... 456789012345678901234567890123456789abcde");
    EXPECT_EQ(line(""), "");
}

TEST(DistributedEnvs, LongNamesPushTheValue) {
    const std::string name(50, 'N');
    EXPECT_EQ(split(distributed_envs_table({{name, "v"}}), '\n').at(3), name + "  v");
}

Plan plan_of(int ranks, std::vector<int> devices) {
    Plan plan{.nodes = {{.host = "127.0.0.1"}}};
    for (int rank = 0; rank < ranks; ++rank) {
        const auto endpoint = "127.0.0.1:" + std::to_string(6170 + rank);
        plan.nodes.front().ranks.push_back(
            {.rank = rank, .index = rank, .local_rank = rank, .endpoint = endpoint});
        plan.endpoints.trainers.push_back(endpoint);
    }
    plan.nodes.front().ranks.front().assignment.devices = std::move(devices);
    return plan;
}

std::string value_of(const std::vector<TableRow>& rows, const std::string& name) {
    for (const auto& row : rows)
        if (row.name == name) return row.value;
    return "(no row)";
}

TEST(FirstProcessRows, OfAGpuRank) {
    const auto greeting = greetings(plan_of(2, {0, 1}));
    ASSERT_EQ(greeting.size(), 1U);
    EXPECT_EQ(greeting.front().line,
              "Local start 2 processes. First process distributed environment info (Only For Debug):");
    const auto& rows = greeting.front().rows;
    EXPECT_EQ(rows.size(), 5U);
    EXPECT_EQ(value_of(rows, "PADDLE_CURRENT_ENDPOINT"), "127.0.0.1:6170");
    EXPECT_EQ(value_of(rows, "PADDLE_TRAINERS_NUM"), "2");
    EXPECT_EQ(value_of(rows, "FLAGS_selected_gpus"), "0,1");
    EXPECT_EQ(value_of(rows, "PADDLE_TRAINER_ENDPOINTS"), "127.0.0.1:6170,127.0.0.1:6171");
    EXPECT_EQ(value_of(rows, "PADDLE_TRAINER_ID"), "0");
}

TEST(FirstProcessRows, OfACpuRankHaveNoGpus) {
    const auto rows = greetings(plan_of(1, {})).front().rows;
    EXPECT_EQ(rows.size(), 4U);
    EXPECT_EQ(value_of(rows, "FLAGS_selected_gpus"), "(no row)");
}

TEST(Console, OfFourCardsIsThatOfTheDocuments) {
    Plan plan{.nodes = {{.host = "127.0.0.1", .cuda_visible_devices = "0,1,2,3"}}, .own_node = 0};
    plan.endpoints.trainers = {"127.0.0.1:33360", "127.0.0.1:11330", "127.0.0.1:54803", "127.0.0.1:49294"};
    for (int rank = 0; rank < 4; ++rank) {
        RankPlan of_rank{.rank = rank, .index = rank, .local_rank = rank};
        of_rank.endpoint = plan.endpoints.trainers[static_cast<std::size_t>(rank)];
        of_rank.assignment.devices = {rank};
        plan.nodes.front().ranks.push_back(of_rank);
    }
    const auto greeting = greetings(plan).front();
    EXPECT_EQ(configuration_banner({.script = "train.py"}, plan) + greeting.line + "\n" +
                  distributed_envs_table(greeting.rows),
              "-----------  Configuration Arguments -----------\n"
              "gpus: 0,1,2,3\n"
              "ips: 127.0.0.1\n"
              "log_dir: log\n"
              "server_num: None\n"
              "servers:\n"
              "training_script: train.py\n"
              "training_script_args: []\n"
              "worker_num: None\n"
              "workers:\n"
              "------------------------------------------------\n"
              "Local start 4 processes. First process distributed environment info (Only For Debug):\n" +
                  std::string(rule_of_87) + "            Distributed Envs              Value\n" +
                  dashes_of_87 +
                  "PADDLE_CURRENT_ENDPOINT                   127.0.0.1:33360\n"
                  "PADDLE_TRAINERS_NUM                       4\n"
                  "FLAGS_selected_gpus                       0\n"
                  "PADDLE_TRAINER_ENDPOINTS                  ... 0.1:11330,127.0.0.1:54803,127.0.0.1:49294\n"
                  "PADDLE_TRAINER_ID                         0\n" +
                  rule_of_87);
}

/// Two servers, a worker on card 4, two heterogeneous workers.
Plan plan_with_servers() {
    Plan plan{.mode = RunMode::heterogeneous, .nodes = {{.host = "127.0.0.1"}}, .own_node = 0};
    plan.servers = {.servers = {"127.0.0.1:1", "127.0.0.1:2"},
                    .workers = {"127.0.0.1:3"},
                    .stages = {{.endpoints = {"127.0.0.1:4", "127.0.0.1:5"}}},
                    .gloo_endpoint = "127.0.0.1:6"};
    for (int rank = 0; rank < 5; ++rank) {
        const auto member = cluster::member_of(*plan.servers, rank);
        plan.nodes.front().ranks.push_back(
            {.rank = rank, .role = member.role, .index = member.index, .endpoint = member.endpoint});
    }
    plan.nodes.front().ranks[2].gpus = {"4"};
    return plan;
}

TEST(Greetings, OneForEachRole) {
    const auto all = greetings(plan_with_servers());
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0].line,
              "Local server start 2 processes. First process distributed environment info (Only For Debug):");
    EXPECT_EQ(all[1].line,
              "Local worker start 1 processes. First process distributed environment info (Only For Debug):");
    EXPECT_EQ(
        all[2].line,
        "Local heter_worker start 2 processes. First process distributed environment info (Only For Debug):");

    const char* roles[] = {"PSERVER", "TRAINER", "HETER_TRAINER"};
    const char* ports[] = {"1", "3", "4"};
    for (std::size_t role = 0; role < 3; ++role) {
        const auto& rows = all[role].rows;
        EXPECT_EQ(value_of(rows, "TRAINING_ROLE"), roles[role]);
        EXPECT_EQ(value_of(rows, "PADDLE_PORT"), ports[role]);
        EXPECT_EQ(value_of(rows, "POD_IP"), "127.0.0.1");
        EXPECT_EQ(value_of(rows, "PADDLE_PSERVERS_IP_PORT_LIST"), "127.0.0.1:1,127.0.0.1:2");
        EXPECT_EQ(value_of(rows, "PADDLE_TRAINER_ENDPOINTS"), "127.0.0.1:3");
        EXPECT_EQ(value_of(rows, "PADDLE_TRAINERS_NUM"), "1");
        EXPECT_EQ(value_of(rows, "PADDLE_GLOO_HTTP_ENDPOINT"), "127.0.0.1:6");
        EXPECT_EQ(value_of(rows, "PADDLE_TRAINER_ID"), role == 1 ? "0" : "(no row)");
        EXPECT_EQ(value_of(rows, "CUDA_VISIBLE_DEVICES"), role == 1 ? "4" : "(no row)");
    }
}

TEST(Greetings, WithoutHeterogeneousWorkersOfTwoRoles) {
    auto plan = plan_with_servers();
    plan.nodes.front().ranks.resize(3);
    EXPECT_EQ(greetings(plan).size(), 2U);
}

TEST(WhereLogsAre, AsPaddleSaysIt) {
    EXPECT_EQ(where_logs_are(plan_of(1, {}), "log"),
              "details about PADDLE_TRAINER_ENDPOINTS can be found in log/endpoints.log, and detail running "
              "logs in "
              "log/workerlog.0");
    EXPECT_EQ(where_logs_are(plan_with_servers(), "my"),
              "Please check servers, workers and heter_worker logs in my/workerlog.*, my/serverlog.* and "
              "my/heterlog.*");
}

TEST(EndpointsLog, OneEndpointALine) {
    EXPECT_EQ(endpoints_log(plan_of(3, {})),
              "PADDLE_TRAINER_ENDPOINTS:\n127.0.0.1:6170\n127.0.0.1:6171\n127.0.0.1:6172\n");
}

}  // namespace
}  // namespace dtrain::launch
