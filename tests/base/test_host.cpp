// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: every machine reaches itself over the loopback.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/host.hpp"

namespace dtrain {
namespace {

using testing::Contains;

TEST(Host, HasItsNamesAndAddresses) {
    EXPECT_THAT(own_addresses(), Contains("127.0.0.1"));
    EXPECT_THAT(own_addresses(), Contains(host_name()));
}

TEST(Host, FindsTheAddressTowardsAnother) {
    EXPECT_EQ(address_towards("127.0.0.1"), "127.0.0.1");
    EXPECT_EQ(address_towards("no-such-host.invalid"), std::nullopt);
    EXPECT_EQ(address_towards(""), std::nullopt);
}

}  // namespace
}  // namespace dtrain
