// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the documents' lists and numbers; ports that Paddle computes for lists without them: 6170 and the
// place in the whole job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "identity/address.hpp"
#include "launch/plan/members.hpp"
#include "support/refuses.hpp"

namespace dtrain::launch {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using tests::refuses;

constexpr int first_port = 6170;

/// "host:port", or the host alone where the port is left to the machine.
std::vector<std::string> texts(const std::vector<MemberAddress>& members) {
    std::vector<std::string> out;
    for (const auto& member : members)
        out.push_back(member.port ? cluster::format_address(member.host, *member.port) : member.host);
    return out;
}

ServerJobMembers members_of(const Options& options) {
    return server_job_members(options, first_port);
}

TEST(ServerJobMembers, NumbersAreOfThisMachineWithoutPorts) {
    const auto job = members_of({.server_num = 1, .worker_num = 4});
    EXPECT_TRUE(job.one_machine);
    EXPECT_THAT(texts(job.servers), ElementsAre("127.0.0.1"));
    EXPECT_EQ(job.workers.size(), 4U);
    EXPECT_THAT(texts(job.workers), Each("127.0.0.1"));
    EXPECT_THAT(job.stages, IsEmpty());
}

TEST(ServerJobMembers, NumbersWithAFirstPortCountOn) {
    const auto job = server_job_members(
        {.start_port = 7000, .server_num = 2, .worker_num = 2, .heter_worker_num = "1;1"}, 7000);
    EXPECT_THAT(texts(job.servers), ElementsAre("127.0.0.1:7000", "127.0.0.1:7001"));
    EXPECT_THAT(texts(job.workers), ElementsAre("127.0.0.1:7002", "127.0.0.1:7003"));
    ASSERT_EQ(job.stages.size(), 2U);
    EXPECT_THAT(texts(job.stages[0].members), ElementsAre("127.0.0.1:7004"));
    EXPECT_THAT(texts(job.stages[1].members), ElementsAre("127.0.0.1:7005"));
}

TEST(ServerJobMembers, ListsWithPortsStayAsTheyAre) {
    const auto job =
        members_of({.servers = "10.0.0.1:6170,10.0.0.2:6171", .workers = "10.0.0.2:6172 ,[::2]:80"});
    EXPECT_FALSE(job.one_machine);
    EXPECT_THAT(texts(job.servers), ElementsAre("10.0.0.1:6170", "10.0.0.2:6171"));
    EXPECT_THAT(texts(job.workers), ElementsAre("10.0.0.2:6172", "[::2]:80"));
    EXPECT_TRUE(job.workers.front().own_choice);
}

TEST(ServerJobMembers, WhoHasNoPortGetsThatOfItsPlaceInTheJob) {
    const auto job = members_of({.servers = "a:6170,b:6171", .workers = "a,a,b,b"});
    EXPECT_THAT(texts(job.workers), ElementsAre("a:6172", "a:6173", "b:6174", "b:6175"));
    EXPECT_FALSE(job.workers.front().own_choice);
}

TEST(ServerJobMembers, PortsThatSomebodyOfTheHostHasAreSkipped) {
    EXPECT_THAT(texts(members_of({.servers = "a:6171", .workers = "a,b"}).workers),
                ElementsAre("a:6172", "b:6173"));
    EXPECT_THAT(texts(members_of({.servers = "a:6171", .workers = "b"}).workers), ElementsAre("b:6171"))
        << "another host's ports are free";
    EXPECT_THAT(texts(members_of({.servers = "a", .workers = "a,b", .http_port = 6171}).workers),
                ElementsAre("a:6172", "b:6173"))
        << "Gloo meets there";
}

TEST(ServerJobMembers, NodesThatJoinedMayBeOneHost) {
    const std::vector<JoinedNode> nodes{{.host = "a", .ranks = 3, .servers = 1},
                                        {.host = "a", .ranks = 2, .servers = 1}};
    const auto job = joined_members({}, 7000, nodes);
    EXPECT_THAT(texts(job.servers), ElementsAre("a:7000", "a:7001"));
    EXPECT_THAT(texts(job.workers), ElementsAre("a:7002", "a:7003", "a:7004"));
    EXPECT_EQ(job.servers[1].node, 1U);
    EXPECT_EQ(job.workers[1].node, 0U);
    EXPECT_EQ(job.workers[2].node, 1U);
    EXPECT_FALSE(job.one_machine);
    EXPECT_THAT(texts(joined_members({.http_port = 7001}, 7000, nodes).servers),
                ElementsAre("a:7000", "a:7002"))
        << "Gloo meets there";
}

TEST(ServerJobMembers, StagesAndTheirDevices) {
    EXPECT_EQ(members_of({.server_num = 1, .worker_num = 1, .heter_worker_num = "2"}).stages.at(0).device,
              Device::Kind::gpu);
    const auto job =
        members_of({.server_num = 1, .worker_num = 1, .heter_workers = "a,a;b", .heter_devices = "gpu; cpu"});
    ASSERT_EQ(job.stages.size(), 2U);
    EXPECT_EQ(job.stages[0].device, Device::Kind::gpu);
    EXPECT_EQ(job.stages[1].device, Device::Kind::cpu);
    EXPECT_THAT(texts(job.stages[0].members), ElementsAre("a:6172", "a:6173"));
    EXPECT_THAT(texts(job.stages[1].members), ElementsAre("b:6174"));
}

TEST(ServerJobMembers, NumbersMayRepeatWhatTheListsSay) {
    const auto job = members_of({.server_num = 1,
                                 .worker_num = 2,
                                 .heter_worker_num = "1;2",
                                 .servers = "a",
                                 .workers = "a,b",
                                 .heter_workers = "a;a,b"});
    EXPECT_EQ(job.workers.size(), 2U);
    EXPECT_EQ(job.stages.at(1).members.size(), 2U);
}

TEST(ServerJobMembers, WhatDoesNotFitIsRefused) {
    const auto of = [](const Options& options) { return [options] { members_of(options); }; };
    EXPECT_THAT(of({.server_num = 0, .worker_num = 1}), refuses("--server_num 0", "at least one"));
    EXPECT_THAT(of({.server_num = 1, .worker_num = 0}), refuses("--worker_num 0", "at least one"));
    EXPECT_THAT(of({.server_num = 2, .worker_num = 1, .servers = "a"}),
                refuses("--server_num 2", "--servers a"));
    EXPECT_THAT(of({.worker_num = 3, .servers = "a", .workers = "a,b"}),
                refuses("--worker_num 3", "--workers a,b has 2"));
    EXPECT_THAT(of({.servers = "a,", .workers = "b"}), refuses("--servers a,", "missing"));
    EXPECT_THAT(of({.servers = "a:0", .workers = "b"}), refuses("--servers a:0", "no port"));
    EXPECT_THAT(of({.servers = "a", .workers = "b:c:d/e"}), refuses("--workers b:c:d/e", "no address"));
    EXPECT_THAT(of({.servers = "a:1", .workers = "a:1"}), refuses("--servers and --workers", "a:1"));
    EXPECT_THAT(of({.servers = "a:1", .workers = "b:1,b:1"}), refuses("--workers", "b:1 is there twice"));
    EXPECT_THAT(of({.servers = "a:1", .workers = "b:1", .heter_workers = "b:1"}),
                refuses("--workers and --heter_workers", "b:1"));
    EXPECT_THAT(of({.servers = "a:1", .workers = "a:2", .http_port = 2}),
                refuses("--http_port 2", "--workers"));
    EXPECT_THAT(of({.server_num = 1, .worker_num = 1, .heter_worker_num = "1;x"}),
                refuses("--heter_worker_num 1;x", "\"x\""));
    EXPECT_THAT(of({.server_num = 1, .worker_num = 1, .heter_worker_num = "1", .heter_workers = "a;b"}),
                refuses("--heter_worker_num 1 has 1 stages", "--heter_workers has 2"));
    EXPECT_THAT(of({.server_num = 1, .worker_num = 1, .heter_worker_num = "2;1", .heter_workers = "a,b;c,d"}),
                refuses("--heter_worker_num 2;1", "stage 3 has 2"));
    EXPECT_THAT(of({.server_num = 1, .worker_num = 1, .heter_worker_num = "2", .heter_devices = "gpu;cpu"}),
                refuses("--heter_devices gpu;cpu", "2 devices for 1"));
    EXPECT_THAT(of({.server_num = 1, .worker_num = 1, .heter_worker_num = "2", .heter_devices = "npu"}),
                refuses("--heter_devices npu", "gpu or cpu"));
}

TEST(ServerJobMembers, AnotherHostMayHaveTheSamePort) {
    EXPECT_THAT(texts(members_of({.servers = "a:1,b:1", .workers = "c:1", .http_port = 2}).servers),
                ElementsAre("a:1", "b:1"));
}

TEST(ServerJobMembers, ComputedPortsEndAtTheLast) {
    EXPECT_THAT([] { server_job_members({.servers = "a", .workers = "a"}, 65535); },
                refuses("65536", "on a"));
}

}  // namespace
}  // namespace dtrain::launch
