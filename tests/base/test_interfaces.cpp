// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the loopback interface that every machine has, and networks worked out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/interfaces.hpp"

namespace dtrain {
namespace {

using testing::Contains;

TEST(Interfaces, TheLoopbackIsOneOfThem) {
    const auto found = interface_with(interfaces(), "127.0.0.1");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->prefix, 8);
    EXPECT_TRUE(found->loopback);
    EXPECT_EQ(own_address_towards("127.0.0.1"), "127.0.0.1");
    EXPECT_EQ(interface_with(interfaces(), "192.0.2.1"), std::nullopt);
}

TEST(AddressesOf, NumbersAreThemselvesAndNamesAreLookedUp) {
    EXPECT_EQ(addresses_of("192.0.2.7"), std::vector<std::string>{"192.0.2.7"});
    EXPECT_EQ(addresses_of("2001:db8::7"), std::vector<std::string>{"2001:db8::7"});
    EXPECT_THAT(addresses_of("localhost"), Contains("127.0.0.1"));
    EXPECT_TRUE(addresses_of("no-such-host.invalid").empty());
    EXPECT_EQ(own_address_towards("no-such-host.invalid"), std::nullopt);
}

TEST(NetworkOfAll, OnlyWhereAllAddressesLieInIt) {
    const Interface eth{.name = "eth0", .address = "10.77.3.9", .prefix = 22};
    EXPECT_EQ(network_of_all(eth, {"10.77.0.1", "10.77.3.255"}), "10.77.0.0/22");
    EXPECT_EQ(network_of_all(eth, {}), "10.77.0.0/22");
    EXPECT_EQ(network_of_all(eth, {"10.77.4.1"}), std::nullopt);
    EXPECT_EQ(network_of_all(eth, {"node7"}), std::nullopt) << "no address";
    EXPECT_EQ(network_of_all({.address = "10.0.0.1", .prefix = 32}, {"10.0.0.1"}), "10.0.0.1/32");
    EXPECT_EQ(network_of_all({.address = "10.0.0.1", .prefix = 0}, {"10.0.0.1"}), std::nullopt);
    EXPECT_EQ(network_of_all({.address = "fe80::1", .prefix = 64}, {"fe80::2"}), std::nullopt)
        << "Open MPI's are IPv4";
}

}  // namespace
}  // namespace dtrain
