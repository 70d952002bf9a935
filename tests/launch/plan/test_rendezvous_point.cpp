// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: all launchers of a job must come to the same place whatever else they disagree about.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "launch/plan/rendezvous_point.hpp"
#include "support/message_of.hpp"

namespace dtrain::launch {
namespace {

using testing::HasSubstr;
using tests::message_of;

TEST(RendezvousPoint, DependsOnTheJobAndNode0Alone) {
    const auto rendezvous = rendezvous_of({.job_id = "night"}, {"10.0.0.1", "10.0.0.2"});
    EXPECT_EQ(rendezvous.coordinator, "10.0.0.1");
    EXPECT_EQ(rendezvous_of({.job_id = "night", .nproc_per_node = 3}, {"10.0.0.1", "10.0.0.9", "10.0.0.8"}),
              rendezvous);
    EXPECT_NE(rendezvous_of({.job_id = "day"}, {"10.0.0.1", "10.0.0.2"}), rendezvous);
    EXPECT_NE(rendezvous_of({.job_id = "night"}, {"10.0.0.2"}).port, rendezvous.port);
    EXPECT_EQ(rendezvous_of({.link_port = 4000}, {"10.0.0.1"}).port, 4000);
}

TEST(RendezvousPoint, AtAMasterWhenNobodyNamesTheNodes) {
    EXPECT_EQ(nodes_at_master({.master = "10.0.0.1:6000", .nnodes = "3"}), 3);
    EXPECT_EQ(nodes_at_master({.master = "10.0.0.1:6000", .nnodes = "1"}), 0);
    EXPECT_EQ(nodes_at_master({.nnodes = "3"}), 0);
    EXPECT_EQ(nodes_at_master({.master = "10.0.0.1:6000", .nnodes = "2", .server_num = 1, .worker_num = 1}),
              2);
    EXPECT_EQ(nodes_at_master({.master = "10.0.0.1:6000", .nnodes = "2", .servers = "a", .workers = "b"}), 0);
    EXPECT_EQ(nodes_at_master({.ips = "10.0.0.1,10.0.0.2", .master = "10.0.0.1:6000", .nnodes = "2"}), 0);
    EXPECT_EQ(nodes_at_master({.master = "etcd://10.0.0.1:2379", .nnodes = "2"}), 0);
    EXPECT_EQ(rendezvous_at_master({.master = "[fd00::1]:6000"}), (RendezvousPoint{"fd00::1", 6000}));
    EXPECT_THAT(message_of([] { rendezvous_at_master({.master = "10.0.0.1"}); }), HasSubstr("ip:port"));
    EXPECT_THROW(nodes_at_master({.master = "10.0.0.1:6000", .nnodes = "many"}), UsageError);
}

TEST(RendezvousPoint, CoordinatorIsOnTheMastersMachine) {
    const RendezvousPoint rendezvous{"10.0.0.1", 6000};
    EXPECT_TRUE(may_be_coordinator({}, rendezvous, {"10.0.0.1"}));
    EXPECT_TRUE(may_be_coordinator({.rank = -1}, rendezvous, {"10.0.0.1"}));
    EXPECT_TRUE(may_be_coordinator({.rank = 0}, rendezvous, {"10.0.0.1"}));
    EXPECT_TRUE(may_be_coordinator({.host = "10.0.0.1"}, rendezvous, {"172.17.0.2"}));
    EXPECT_TRUE(may_be_coordinator({}, {"127.0.0.1", 6000}, {}));
    EXPECT_FALSE(may_be_coordinator({.rank = 1}, rendezvous, {"10.0.0.1"}));
    EXPECT_FALSE(may_be_coordinator({}, rendezvous, {"10.0.0.2"}));
    EXPECT_THAT(message_of([&] {
                    may_be_coordinator({.master = "10.0.0.1:6000", .rank = 0}, rendezvous, {"10.0.0.2"});
                }),
                HasSubstr("--rank 0 belongs on the machine of --master 10.0.0.1:6000"));
}

}  // namespace
}  // namespace dtrain::launch
