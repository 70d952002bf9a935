// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the variables that Paddle's launchers of 2.0-2.3 and 2.4-3.x give to servers, workers and
// heterogeneous workers, for a job of two servers, two workers and stages of two and one.
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "protocol/server_environment.hpp"

namespace dtrain::cluster {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

using Variables = std::map<std::string, std::string>;

ServerJob plain_job() {
    return {.servers = {"a:1", "b:2"}, .workers = {"a:3", "b:4"}, .gloo_endpoint = "a:9"};
}

ServerJob staged_job() {
    auto job = plain_job();
    job.stages = {{.device = "gpu", .endpoints = {"a:5", "b:6"}}, {.device = "cpu", .endpoints = {"b:7"}}};
    return job;
}

/// What set_server_job gives to a rank.
Variables variables(const ServerJob& job, int rank, const std::vector<int>& devices = {},
                    Environment environment = {}) {
    ProgramContext context{.identity = {.rank = rank, .size = 7, .nodes = 2}, .servers = job};
    context.selected_devices = devices;
    set_server_job(environment, context);
    return {environment.begin(), environment.end()};
}

/// What everybody of these jobs is told besides.
Variables with_lists(Variables own, const std::string& heter = "") {
    own.insert({{"PADDLE_PSERVERS_IP_PORT_LIST", "a:1,b:2"},
                {"PADDLE_TRAINER_ENDPOINTS", "a:3,b:4"},
                {"PADDLE_TRAINERS_NUM", "2"},
                {"PADDLE_NNODES", "2"},
                {"PADDLE_GLOO_HTTP_ENDPOINT", "a:9"},
                {"PADDLE_HETER_TRAINER_IP_PORT_LIST", heter}});
    if (!heter.empty()) own["PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST"] = heter;
    return own;
}

TEST(ServerJob, RanksAreServersThenWorkersThenStages) {
    const auto job = staged_job();
    EXPECT_EQ(member_of(job, 0), (Member{.role = Role::server, .index = 0, .endpoint = "a:1"}));
    EXPECT_EQ(member_of(job, 1), (Member{.role = Role::server, .index = 1, .endpoint = "b:2"}));
    EXPECT_EQ(member_of(job, 2), (Member{.role = Role::worker, .index = 0, .stage = 1, .endpoint = "a:3"}));
    EXPECT_EQ(member_of(job, 3), (Member{.role = Role::worker, .index = 1, .stage = 1, .endpoint = "b:4"}));
    EXPECT_EQ(member_of(job, 5),
              (Member{.role = Role::heter_worker, .index = 1, .stage = 2, .endpoint = "b:6"}));
    EXPECT_EQ(member_of(job, 6),
              (Member{.role = Role::heter_worker, .index = 2, .stage = 3, .endpoint = "b:7"}))
        << "logs count through the stages";
    for (const int beyond : {-1, 7, 1000})
        EXPECT_THAT([&] { (void)member_of(job, beyond); },
                    ThrowsMessage<UsageError>(AllOf(HasSubstr("rank " + std::to_string(beyond)),
                                                    HasSubstr("7 servers and workers"))));
}

TEST(ServerJob, NamesOfRolesAndLogs) {
    EXPECT_EQ(to_string(Role::trainer), "trainer");
    EXPECT_EQ(to_string(Role::server), "server");
    EXPECT_EQ(to_string(Role::worker), "worker");
    EXPECT_EQ(to_string(Role::heter_worker), "heter_worker");
    EXPECT_EQ(log_name(Role::trainer, 3), "workerlog.3");
    EXPECT_EQ(log_name(Role::server, 0), "serverlog.0");
    EXPECT_EQ(log_name(Role::worker, 1), "workerlog.1");
    EXPECT_EQ(log_name(Role::heter_worker, 2), "heterlog.2");
}

TEST(ServerEnvironment, OfAServer) {
    EXPECT_EQ(variables(plain_job(), 1), with_lists({{"TRAINING_ROLE", "PSERVER"},
                                                     {"PADDLE_ROLE", "PSERVER"},
                                                     {"POD_IP", "b"},
                                                     {"PADDLE_PORT", "2"},
                                                     {"CUDA_VISIBLE_DEVICES", ""}}));
}

TEST(ServerEnvironment, OfAWorkerOnCpu) {
    EXPECT_EQ(variables(plain_job(), 3), with_lists({{"TRAINING_ROLE", "TRAINER"},
                                                     {"PADDLE_ROLE", "TRAINER"},
                                                     {"PADDLE_TRAINER_ID", "1"},
                                                     {"POD_IP", "b"},
                                                     {"PADDLE_PORT", "4"},
                                                     {"CUDA_VISIBLE_DEVICES", ""}}));
}

TEST(ServerEnvironment, OfAWorkerWithACard) {
    EXPECT_EQ(variables(plain_job(), 2, {0}), with_lists({{"TRAINING_ROLE", "TRAINER"},
                                                          {"PADDLE_ROLE", "TRAINER"},
                                                          {"PADDLE_TRAINER_ID", "0"},
                                                          {"POD_IP", "a"},
                                                          {"PADDLE_PORT", "3"},
                                                          {"FLAGS_selected_gpus", "0"}}));
}

TEST(ServerEnvironment, OfStages) {
    const auto job = staged_job();
    const std::string heter = "a:5,b:6,b:7";
    const Variables stages{{"STAGE_NUM", "3"}, {"PADDLE_STAGE_TRAINERS_NUM", "[2, 2, 1]"}};
    const auto expected = [&](Variables own) {
        own.insert(stages.begin(), stages.end());
        return with_lists(std::move(own), heter);
    };
    EXPECT_EQ(variables(job, 0), with_lists({{"TRAINING_ROLE", "PSERVER"},
                                             {"PADDLE_ROLE", "PSERVER"},
                                             {"POD_IP", "a"},
                                             {"PADDLE_PORT", "1"},
                                             {"CUDA_VISIBLE_DEVICES", ""}},
                                            heter))
        << "servers are in no stage";
    EXPECT_EQ(variables(job, 2), expected({{"TRAINING_ROLE", "TRAINER"},
                                           {"PADDLE_ROLE", "TRAINER"},
                                           {"PADDLE_TRAINER_ID", "0"},
                                           {"POD_IP", "a"},
                                           {"PADDLE_PORT", "3"},
                                           {"STAGE_ID", "1"},
                                           {"HETER_DEVICE_TYPE", "cpu"},
                                           {"PADDLE_PREVIOUS_HETER_TRAINER_IP_PORT_LIST", ""},
                                           {"PADDLE_NEXT_HETER_TRAINER_IP_PORT_LIST", "a:5,b:6"},
                                           {"CUDA_VISIBLE_DEVICES", ""}}));
    EXPECT_EQ(variables(job, 5, {0}), expected({{"TRAINING_ROLE", "HETER_TRAINER"},
                                                {"PADDLE_ROLE", "HETER_TRAINER"},
                                                {"POD_IP", "b"},
                                                {"PADDLE_PORT", "6"},
                                                {"STAGE_ID", "2"},
                                                {"HETER_DEVICE_TYPE", "gpu"},
                                                {"PADDLE_PREVIOUS_HETER_TRAINER_IP_PORT_LIST", "a:3,b:4"},
                                                {"PADDLE_NEXT_HETER_TRAINER_IP_PORT_LIST", "b:7"},
                                                {"FLAGS_selected_gpus", "0"}}));
    EXPECT_EQ(variables(job, 6), expected({{"TRAINING_ROLE", "HETER_TRAINER"},
                                           {"PADDLE_ROLE", "HETER_TRAINER"},
                                           {"POD_IP", "b"},
                                           {"PADDLE_PORT", "7"},
                                           {"STAGE_ID", "3"},
                                           {"HETER_DEVICE_TYPE", "cpu"},
                                           {"PADDLE_PREVIOUS_HETER_TRAINER_IP_PORT_LIST", "a:5,b:6"},
                                           {"PADDLE_NEXT_HETER_TRAINER_IP_PORT_LIST", ""},
                                           {"CUDA_VISIBLE_DEVICES", ""}}));
}

TEST(ServerEnvironment, NothingOfAJobAroundThisOneRemains) {
    const Environment outer{{"PADDLE_TRAINER_ID", "5"},
                            {"STAGE_ID", "2"},
                            {"STAGE_NUM", "2"},
                            {"PADDLE_STAGE_TRAINERS_NUM", "[1, 1]"},
                            {"HETER_DEVICE_TYPE", "gpu"},
                            {"PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST", "z:1"},
                            {"PADDLE_HETER_TRAINER_IP_PORT_LIST", "z:1"},
                            {"PADDLE_PREVIOUS_HETER_TRAINER_IP_PORT_LIST", "z:1"},
                            {"PADDLE_NEXT_HETER_TRAINER_IP_PORT_LIST", "z:1"},
                            {"FLAGS_selected_gpus", "3"},
                            {"CUDA_VISIBLE_DEVICES", "3"}};
    EXPECT_EQ(variables(plain_job(), 0, {}, outer), variables(plain_job(), 0));
    EXPECT_EQ(variables(staged_job(), 0, {}, outer), variables(staged_job(), 0));
}

TEST(ServerEnvironment, AddressesOfIpv6AreTakenApart) {
    const auto environment =
        variables({.servers = {"[2001:db8::1]:80"}, .workers = {"[::2]:81"}, .gloo_endpoint = "x:1"}, 0);
    EXPECT_EQ(environment.at("POD_IP"), "2001:db8::1");
    EXPECT_EQ(environment.at("PADDLE_PORT"), "80");
}

TEST(ServerJobOnTheWire, ReadAsItWasWritten) {
    for (const auto& job : {plain_job(), staged_job()}) {
        Environment environment;
        write_server_job(environment, job);
        EXPECT_EQ(read_server_job(environment), job);
    }
    EXPECT_EQ(read_server_job({}), std::nullopt);
    EXPECT_EQ(read_server_job({{"DTRAIN_ENDPOINTS", "a:1"}}), std::nullopt) << "a collective job";
}

TEST(ServerJobOnTheWire, StagesThatDoNotFitAreNamed) {
    Environment environment;
    write_server_job(environment, staged_job());
    environment.set("DTRAIN_HETER_DEVICES", "gpu");
    EXPECT_THAT([&] { (void)read_server_job(environment); },
                ThrowsMessage<UsageError>(
                    AllOf(HasSubstr("DTRAIN_HETER_DEVICES names 1"), HasSubstr("DTRAIN_HETER_WORKERS 2"))));
}

}  // namespace
}  // namespace dtrain::cluster
