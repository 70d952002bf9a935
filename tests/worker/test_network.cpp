// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: NCCL's and Gloo's own variables, and the rule that the user's value wins.
#include <gtest/gtest.h>

#include "worker/network.hpp"

namespace dtrain::worker {
namespace {

cluster::Identity on_node(int node) {
    return {.node_rank = node, .nodes = 3, .hosts = {"a", "b", "c"}};
}

Environment named(Environment variables, const cluster::Identity& identity) {
    name_network_interface(variables, identity, [](const std::string& host) -> std::optional<std::string> {
        return "to-" + host;
    });
    return variables;
}

TEST(NetworkInterface, LeadsToTheFirstNodeAndFromThereToTheSecond) {
    EXPECT_EQ(other_node(on_node(0)), "b");
    EXPECT_EQ(other_node(on_node(2)), "a");
    EXPECT_EQ(named({}, on_node(0)),
              (Environment{{"NCCL_SOCKET_IFNAME", "to-b"}, {"GLOO_SOCKET_IFNAME", "to-b"}}));
}

TEST(NetworkInterface, TheUsersValueIsKept) {
    EXPECT_EQ(named({{"NCCL_SOCKET_IFNAME", "=ib0"}}, on_node(1)),
              (Environment{{"NCCL_SOCKET_IFNAME", "=ib0"}, {"GLOO_SOCKET_IFNAME", "to-a"}}));
}

TEST(NetworkInterface, NothingIsSaidOnOneNodeOrWithoutARoute) {
    EXPECT_EQ(named({}, {.nodes = 1, .hosts = {"a"}}), Environment{});
    EXPECT_EQ(named({}, {.nodes = 2}), Environment{}) << "the other's name is not known";
    Environment variables;
    name_network_interface(variables, on_node(1), [](const std::string&) { return std::nullopt; });
    EXPECT_EQ(variables, Environment{});
    EXPECT_EQ(routed_interface("127.0.0.1"), std::nullopt) << "the loopback leads nowhere";
}

}  // namespace
}  // namespace dtrain::worker
