// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what somebody who knows the machine described here would write into Open MPI's parameters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "launch/plan/network.hpp"
#include "support/refuses.hpp"

namespace dtrain::launch {
namespace {

using tests::refuses;

/// A node with a bridge for containers and a fast network beside the one that its name belongs to.
NetworkQuestions node() {
    return {.interfaces = {{"lo", "127.0.0.1", 8, true},
                           {"eth0", "10.0.1.1", 24, false},
                           {"docker0", "172.17.0.1", 16, false},
                           {"ib0", "10.9.0.1", 16, false}},
            .addresses_of =
                [](const std::string& host) {
                    return host == "node2" ? std::vector<std::string>{"10.0.1.2"}
                                           : std::vector<std::string>{host};
                },
            .own_address_towards = [](const std::string& host) -> std::optional<std::string> {
                if (host == "10.0.1.1") return "127.0.0.1";  // the kernel's way to the machine itself
                return host.starts_with("10.9.") ? "10.9.0.1" : "10.0.1.1";
            }};
}

Environment kept_to(const std::string& network) {
    return {{"OMPI_MCA_oob_tcp_if_include", network},
            {"OMPI_MCA_btl_tcp_if_include", network},
            {"PRTE_MCA_prte_if_include", network}};
}

TEST(MpiNetwork, IsTheOneThatLeadsToTheOthers) {
    EXPECT_EQ(mpi_network_variables({"10.0.1.1", "node2"}, {}, {}, node()), kept_to("10.0.1.0/24"));
}

TEST(MpiNetwork, IsTheNamedOneWhereAllNodesAreInIt) {
    EXPECT_EQ(mpi_network_variables({"10.9.0.1", "10.9.4.2"}, "ib0", {}, node()), kept_to("10.9.0.0/16"));
    EXPECT_EQ(mpi_network_variables({"10.0.1.1", "10.0.1.2"}, "ib0", {}, node()), Environment{});
}

TEST(MpiNetwork, IsLeftAloneWhereThereIsNothingToChoose) {
    EXPECT_EQ(mpi_network_variables({"10.0.1.1"}, {}, {}, node()), Environment{}) << "one node";
    EXPECT_EQ(mpi_network_variables({"10.0.1.1", "10.0.2.2"}, {}, {}, node()), Environment{})
        << "two networks";
    auto plain = node();
    plain.interfaces.resize(2);
    EXPECT_EQ(mpi_network_variables({"10.0.1.1", "node2"}, {}, {}, plain), Environment{}) << "one interface";
}

TEST(MpiNetwork, TheUsersWordIsKept) {
    const Environment users{{"OMPI_MCA_btl_tcp_if_include", "ib0"},
                            {"OMPI_MCA_oob_tcp_if_exclude", "lo,docker0"}};
    EXPECT_EQ(mpi_network_variables({"10.0.1.1", "node2"}, {}, users, node()),
              (Environment{{"PRTE_MCA_prte_if_include", "10.0.1.0/24"}}));
}

TEST(MpiAddressFamily, IsIPv4WhereEveryNodeHasIt) {
    const Environment ipv4{{"OMPI_MCA_btl_tcp_disable_family", "6"}};
    EXPECT_EQ(mpi_address_family({"fd00::1"}, {}, node()), ipv4) << "one machine, with memory to exchange by";
    EXPECT_EQ(mpi_address_family({"10.0.1.1", "node2"}, {}, node()), ipv4);
    EXPECT_EQ(mpi_address_family({"10.0.1.1", "fd00::2"}, {}, node()), Environment{});
    EXPECT_EQ(mpi_address_family({"10.0.1.1", "node2"}, {{"OMPI_MCA_btl_tcp_disable_family", "4"}}, node()),
              Environment{});
}

TEST(NetworkInterface, MustBeOneOfThisMachine) {
    check_network_interface("ib0", node().interfaces);
    EXPECT_THAT([] { check_network_interface("eth7", node().interfaces); },
                refuses("--network_interface eth7", "docker0, eth0, ib0"));
}

}  // namespace
}  // namespace dtrain::launch
