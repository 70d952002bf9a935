// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: addresses.hpp: each listener of a job has a port of its own on its host, and those of this machine
// are proven before anything starts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "identity/address.hpp"
#include "launch/plan/addresses.hpp"

namespace dtrain::launch {
namespace {

using testing::ElementsAre;

class AddressesTest : public testing::Test {
  protected:
    AddressesTest() {
        input_.own_addresses = {"10.0.0.2"};
        input_.ports = {.any = {}, .exactly = [this](const std::vector<int>& ports) { proven_ = ports; }};
    }

    PlanInput input_;
    std::vector<int> proven_;
};

TEST_F(AddressesTest, TheMastersOfPaddleCloudHaveThePortsBehindTheRanks) {
    const cluster::PaddleCloud cloud{
        .nodes = {"10.0.0.1", "10.0.0.2"}, .node_rank = 1, .ports_per_node = 2, .first_port = 6170};
    const Nodes nodes{.hosts = cloud.nodes, .own = 1, .notices = {}};
    const auto endpoints = collective_addresses(input_, nodes, cloud, {2, 2}).endpoints;
    const int last = cluster::port_of(endpoints.trainers.at(1));
    EXPECT_EQ(endpoints.paddle_master, cluster::format_address("10.0.0.1", last + 1));
    EXPECT_EQ(endpoints.master_addr, "10.0.0.1");
    EXPECT_EQ(endpoints.master_port, last + 2);
}

TEST_F(AddressesTest, ANodeProvesThePortsOfItsOwnRanks) {
    input_.options.start_port = 7000;
    const Nodes nodes{.hosts = {"10.0.0.1", "10.0.0.2"}, .own = 1, .notices = {}};
    collective_addresses(input_, nodes, std::nullopt, {1, 3});
    EXPECT_THAT(proven_, ElementsAre(7000, 7001, 7002));
}

TEST_F(AddressesTest, TheFirstNodeProvesThoseOfTheMastersToo) {
    input_.options.start_port = 7000;
    const Nodes nodes{.hosts = {"10.0.0.2", "10.0.0.1"}, .own = 0, .notices = {}};
    collective_addresses(input_, nodes, std::nullopt, {1, 3});
    EXPECT_THAT(proven_, ElementsAre(7000, 7001, 7002));
}

TEST_F(AddressesTest, MeetingPointsOfAServerJobAreBehindAllPorts) {
    const ServerJobMembers members{.servers = {{.host = "10.0.0.2", .port = 6000}},
                                   .workers = {{.host = "10.0.0.1", .port = 6010}},
                                   .stages = {}};
    const auto addresses = server_job_addresses(input_, members);
    EXPECT_EQ(addresses.job.gloo_endpoint, "10.0.0.2:6011");
    EXPECT_EQ(addresses.endpoints.paddle_master, "10.0.0.2:6012");
    EXPECT_EQ(addresses.endpoints.master_addr, "10.0.0.2");
    EXPECT_EQ(addresses.endpoints.master_port, 6013);
    EXPECT_THAT(proven_, ElementsAre(6000, 6011, 6012, 6013));
}

}  // namespace
}  // namespace dtrain::launch
