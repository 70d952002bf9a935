// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the console output of fleetrun as Paddle's handbook prints it; its example row of a long value is
// copied.
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "launch/banner.hpp"

namespace dtrain::launch {
namespace {

constexpr const char* rule_of_87 =
    "=======================================================================================\n";
constexpr const char* dashes_of_87 =
    "---------------------------------------------------------------------------------------\n";

TEST(ConfigurationBanner, OfDefaults) {
    EXPECT_EQ(configuration_banner({.script = "train.py"}, "0,1,2,3"),
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
                                   ""),
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

TEST(EndpointsLog, OneEndpointALine) {
    EXPECT_EQ(endpoints_log(plan_of(3, {})),
              "PADDLE_TRAINER_ENDPOINTS:\n127.0.0.1:6170\n127.0.0.1:6171\n127.0.0.1:6172\n");
}

}  // namespace
}  // namespace dtrain::launch
