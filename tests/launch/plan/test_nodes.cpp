// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: Paddle's page about launch (the order of --ips is the nodes'), its rule for PaddleCloud, --sort_ip
// of Paddle 2.5, and Open MPI's hostfiles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "launch/plan/nodes.hpp"
#include "support/refuses.hpp"

namespace dtrain::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using tests::refuses;

const std::set<std::string> own{"127.0.0.1", "localhost", "192.168.0.2", "node2"};

Nodes nodes(const Options& options, const std::vector<cluster::HostSlots>& hostfile = {}) {
    return nodes_of(options, std::nullopt, hostfile, own);
}

TEST(Nodes, OneByDefaultAndItIsThis) {
    const auto one = nodes({});
    EXPECT_THAT(one.hosts, ElementsAre("127.0.0.1"));
    EXPECT_EQ(one.own, 0);
    EXPECT_THAT(one.notices, IsEmpty());
    EXPECT_EQ(nodes({.host = "10.9.9.9"}).own, 0) << "a pod's address does not matter to one node";
    EXPECT_EQ(nodes({.rank = 0}).own, 0);
    EXPECT_EQ(nodes({.rank = -1}).own, 0) << "Paddle's way to say nothing";
}

TEST(Nodes, InTheOrderOfIps) {
    const auto two = nodes({.ips = "192.168.0.9, 192.168.0.2"});
    EXPECT_THAT(two.hosts, ElementsAre("192.168.0.9", "192.168.0.2"));
    EXPECT_EQ(two.own, 1) << "found by this machine's addresses";
    EXPECT_EQ(nodes({.ips = "192.168.0.8,192.168.0.9"}).own, std::nullopt);
    EXPECT_EQ(nodes({.ips = "192.168.0.8"}).own, std::nullopt);
}

TEST(Nodes, HostAndRankSayWhichIsOwn) {
    EXPECT_EQ(nodes({.ips = "192.168.0.2,192.168.0.9", .host = "192.168.0.9"}).own, 1);
    EXPECT_EQ(nodes({.ips = "192.168.0.2,192.168.0.9", .rank = 1}).own, 1);
    EXPECT_EQ(nodes({.ips = "192.168.0.2,192.168.0.9", .host = "192.168.0.2", .rank = 1}).own, 0)
        << "an address is surer than a number";
    EXPECT_THAT([] { nodes({.ips = "a,b", .host = "c"}); }, refuses("--host c", "a,b"));
    EXPECT_THAT([] { nodes({.ips = "a,b", .rank = 2}); }, refuses("--rank 2", "2 nodes"));
    EXPECT_THAT([] { nodes({.rank = 1}); }, refuses("--rank 1", "1 node,"));
}

TEST(Nodes, SortedByTheNumberOfTheAddress) {
    EXPECT_THAT(nodes({.ips = "10.0.0.10,9.255.0.1,10.0.0.9", .sort_ip = true}).hosts,
                ElementsAre("9.255.0.1", "10.0.0.9", "10.0.0.10"));
    EXPECT_THAT(nodes({.ips = "zeta,10.0.0.1,alpha", .sort_ip = true}).hosts,
                ElementsAre("10.0.0.1", "zeta", "alpha"))
        << "names stay in their order behind the addresses";
    EXPECT_EQ(nodes({.ips = "192.168.0.9,192.168.0.2", .sort_ip = true}).own, 0);
}

TEST(Nodes, FromAHostfile) {
    const auto two = nodes({.hostfile = "hosts"}, {{"node1", 8}, {"node2", 4}});
    EXPECT_THAT(two.hosts, ElementsAre("node1", "node2"));
    EXPECT_EQ(two.own, 1);
    EXPECT_THAT([] { nodes({.hostfile = "hosts"}); }, refuses("--hostfile hosts", "names no host"));
    EXPECT_THAT(
        [] {
            nodes({.ips = "a,b", .hostfile = "hosts"}, {{"a", 1}});
        },
        refuses("--ips", "--hostfile"));
}

TEST(Nodes, AsManyAsNnodes) {
    EXPECT_EQ(nodes({.ips = "a,b,c", .nnodes = "3"}).hosts.size(), 3U);
    EXPECT_THAT([] { nodes({.ips = "a,b,c", .nnodes = "2"}); }, refuses("--nnodes 2", "3 nodes"));
    EXPECT_THAT([] { nodes({.nnodes = "2"}); }, refuses("--nnodes 2", "--ips"));
    EXPECT_THAT([] { nodes({.nnodes = "1:2"}); }, refuses("--nnodes 1:2", "--master etcd://"));
    for (const char* text : {"0", "-1", "two", "", "1.5"})
        EXPECT_THAT([&] { nodes({.nnodes = text}); }, refuses(std::string("--nnodes ") + text)) << text;
}

TEST(Nodes, AddressesThatCannotBe) {
    for (const char* ips : {"", ",", "a,", "a,,b", "a b,c", "[::1,b", "a:port,b"})
        EXPECT_THAT([&] { nodes({.ips = ips}); }, refuses("--ips", ips)) << ips;
    EXPECT_THAT([] { nodes({.ips = "a:6170,b"}); }, refuses("--ips a:6170,b", "--start_port"));
    EXPECT_THAT([] { nodes({.ips = "a,b,a"}); }, refuses("--ips a,b,a", "a is named twice"));
    for (const char* loopback : {"127.0.0.1", "127.1.2.3", "localhost", "::1"})
        EXPECT_THAT([&] { nodes({.ips = std::string("a,") + loopback}); },
                    refuses("--ips a,", std::string(loopback) + " means another machine on each node"));
}

TEST(Nodes, PaddleCloudKnowsBest) {
    const cluster::PaddleCloud cloud{.nodes = {"10.0.0.1", "10.0.0.2"}, .node_rank = 1, .ports_per_node = 1};
    const auto from_cloud = nodes_of({.ips = "1.1.1.1,2.2.2.2", .host = "1.1.1.1"}, cloud, {}, own);
    EXPECT_THAT(from_cloud.hosts, ElementsAre("10.0.0.1", "10.0.0.2"));
    EXPECT_EQ(from_cloud.own, 1);
    EXPECT_THAT(from_cloud.notices, ElementsAre(HasSubstr("--ips 1.1.1.1,2.2.2.2 is not used")));
    EXPECT_THAT(nodes_of({}, cloud, {}, own).notices, IsEmpty());
    EXPECT_THAT(nodes_of({.ips = "10.0.0.1,10.0.0.2"}, cloud, {}, own).notices, IsEmpty());
}

TEST(OwnNames, AreLookedUpOnlyWhereNoneIsKnown) {
    const std::set<std::string> addresses{"fd00::1", "node1"};
    int questions = 0;
    const auto addresses_of = [&](const std::string& host) -> std::vector<std::string> {
        ++questions;
        if (host == "node1-ib") return {"10.1.0.1", "fd00::1"};
        return {"fd00::7"};
    };
    EXPECT_EQ(own_names(addresses, {"node2", "node1"}, addresses_of), addresses);
    EXPECT_EQ(questions, 0);
    EXPECT_THAT(own_names(addresses, {"node2-ib", "node1-ib", "node3-ib"}, addresses_of),
                UnorderedElementsAre("fd00::1", "node1", "node1-ib"));
    EXPECT_EQ(questions, 2);
    EXPECT_EQ(own_names(addresses, {"other"}, addresses_of), addresses);
    EXPECT_THAT(hosts_named({.ips = "a, fd00::2"}, {}), ElementsAre("a", "fd00::2"));
    EXPECT_THAT(hosts_named({}, {{.host = "c", .slots = 1}}), ElementsAre("c"));
}

TEST(LoneLaunchers, TheFirstOfSeveralTasksSaysSo) {
    Environment task{{"SLURM_JOB_ID", "4"},
                     {"SLURM_STEP_ID", "0"},
                     {"SLURM_PROCID", "0"},
                     {"SLURM_LOCALID", "0"},
                     {"SLURM_NODEID", "0"},
                     {"SLURM_STEP_NUM_TASKS", "2"},
                     {"SLURM_STEP_NUM_NODES", "2"},
                     {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"},
                     {"SLURM_STEP_NODELIST", "node[1-2]"}};
    EXPECT_THAT(lone_launchers_warning({}, task).value_or(""), HasSubstr("--ips node1,node2"));
    EXPECT_EQ(lone_launchers_warning({.ips = "node1,node2"}, task), std::nullopt);
    EXPECT_EQ(lone_launchers_warning({.master = "node1:36700"}, task), std::nullopt);
    EXPECT_EQ(lone_launchers_warning({}, {}), std::nullopt);
    task.set("SLURM_PROCID", "1");
    task.set("SLURM_NODEID", "1");
    EXPECT_EQ(lone_launchers_warning({}, task), std::nullopt);
}

TEST(Loopback, Names) {
    for (const char* name : {"127.0.0.1", "127.9.9.9", "localhost", "::1"})
        EXPECT_TRUE(is_loopback(name)) << name;
    for (const char* name : {"192.168.0.1", "128.0.0.1", "localhost2", "::2", ""})
        EXPECT_FALSE(is_loopback(name)) << name;
}

}  // namespace
}  // namespace dtrain::launch
