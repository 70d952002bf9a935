// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: hand-worked endpoints; for base_port, the published FNV-1a hashes of "a" and "foobar"
// (af63dc4c8601ec8c, 85944171f73967e8) halves xored, reduced modulo 20000 - count
// with another program's integers.
#include <set>

#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "identity/endpoints.hpp"

namespace dtrain::cluster {
namespace {

TEST(BasePort, IsTheSameOnEveryMachine) {
    EXPECT_EQ(base_port("a", 0), 19824);
    EXPECT_EQ(base_port("a", 500), 23324);
    EXPECT_EQ(base_port("foobar", 0), 22697);
    EXPECT_EQ(base_port("foobar", 500), 25697);
}

TEST(BasePort, StaysInItsRangeAndSpreadsNeighbouringJobs) {
    std::set<int> ports;
    for (int job = 1'923'000'000; job < 1'923'002'000; ++job) {
        const int port = base_port(std::to_string(job), 100);
        EXPECT_GE(port, 10000);
        EXPECT_LE(port + 100, 29999);
        ports.insert(port);
    }
    // 2000 draws out of 19900 leave about 1903 different ones.
    EXPECT_GT(ports.size(), 1800U);
    EXPECT_THROW(base_port("a", -1), UsageError);
    EXPECT_THROW(base_port("a", 10001), UsageError);
    EXPECT_LE(base_port("a", 10000), 19999);
}

TEST(Endpoints, NumberedNodeByNode) {
    EXPECT_EQ(consecutive_endpoints({"a", "b"}, {2, 3}, 12000),
              (Endpoints{{"a:12000", "a:12001", "b:12000", "b:12001", "b:12002"}, "a:12002", "a", 12003}));
    EXPECT_EQ(consecutive_endpoints({"fe80::1"}, {1}, 100),
              (Endpoints{{"[fe80::1]:100"}, "[fe80::1]:101", "fe80::1", 102}));
}

TEST(Endpoints, RefusesWhatCannotBe) {
    EXPECT_THROW(consecutive_endpoints({}, {}, 12000), UsageError);
    EXPECT_THROW(consecutive_endpoints({"a"}, {1, 1}, 12000), UsageError);
    EXPECT_THROW(consecutive_endpoints({"a"}, {1}, 0), UsageError);
    EXPECT_EQ(consecutive_endpoints({"a"}, {1}, 65533).master_port, 65535);
    EXPECT_THROW(consecutive_endpoints({"a"}, {1}, 65534), UsageError);
    EXPECT_THROW(consecutive_endpoints({"a", "b"}, {1, 5}, 65532), UsageError);
}

}  // namespace
}  // namespace dtrain::cluster
