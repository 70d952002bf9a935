// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the rules of Paddle's fleet launcher for PaddleCloud, worked by hand.
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "identity/paddle_cloud.hpp"

namespace dtrain::cluster {
namespace {

using Texts = std::vector<std::string>;

const Environment cloud_node{{"PADDLE_TRAINERS", "10.0.0.1,10.0.0.2"},
                             {"POD_IP", "10.0.0.2"},
                             {"PADDLE_TRAINER_ID", "1"},
                             {"PADDLE_TRAINERS_NUM", "2"},
                             {"TRAINER_PORTS_NUM", "4"}};

Environment with(const char* name, const char* value) {
    auto out = cloud_node;
    out.set(name, value);
    return out;
}

TEST(PaddleCloud, ReadsTheNode) {
    EXPECT_EQ(paddle_cloud(cloud_node),
              (PaddleCloud{{"10.0.0.1", "10.0.0.2"}, "10.0.0.2", 1, 4, std::nullopt, {}}));
    EXPECT_EQ(paddle_cloud(with("PADDLE_PORT", "7000"))->first_port, 7000);
}

TEST(PaddleCloud, IsThereOnlyWhenEveryVariableIs) {
    for (const char* name :
         {"PADDLE_TRAINERS", "POD_IP", "PADDLE_TRAINER_ID", "TRAINER_PORTS_NUM", "PADDLE_TRAINERS_NUM"}) {
        auto without = cloud_node;
        without.unset(name);
        EXPECT_EQ(paddle_cloud(without), std::nullopt) << name;
    }
    EXPECT_EQ(paddle_cloud(with("PADDLE_TRAINERS_NUM", "1")), std::nullopt);
}

TEST(PaddleCloud, ContradictionsAreRefused) {
    EXPECT_THROW(paddle_cloud(with("PADDLE_TRAINER_ID", "2")), UsageError);
    EXPECT_THROW(paddle_cloud(with("PADDLE_TRAINER_ID", "first")), UsageError);
    EXPECT_THROW(paddle_cloud(with("PADDLE_TRAINERS", "10.0.0.1,")), UsageError);
    EXPECT_THROW(paddle_cloud(with("TRAINER_PORTS_NUM", "0")), UsageError);
    EXPECT_THROW(paddle_cloud(with("DISTRIBUTED_TRAINER_ENDPOINTS", "a:1,b:1")), UsageError);
}

TEST(PaddleCloud, EndpointsFromThePort) {
    EXPECT_EQ(cloud_endpoints(*paddle_cloud(cloud_node), 2),
              (Texts{"10.0.0.1:6170", "10.0.0.1:6171", "10.0.0.2:6170", "10.0.0.2:6171"}));
    const auto cloud = *paddle_cloud(with("PADDLE_PORT", "7000"));
    EXPECT_EQ(cloud_endpoints(cloud, 1), (Texts{"10.0.0.1:7000", "10.0.0.2:7000"}));
    EXPECT_EQ(cloud_endpoints(cloud, 5).front(), "10.0.0.1:6170");  // the platform gave four ports a node
    auto alone = cloud;
    alone.nodes = {"10.0.0.1"};
    EXPECT_EQ(cloud_endpoints(alone, 1), (Texts{"10.0.0.1:6170"}));
}

TEST(PaddleCloud, EndpointsOfThePlatform) {
    auto node = with("DISTRIBUTED_TRAINER_ENDPOINTS", "a:1,a:2,b:3,b:4");
    node.set("TRAINER_PORTS_NUM", "2");
    const auto cloud = *paddle_cloud(node);
    EXPECT_EQ(cloud_endpoints(cloud, 2), (Texts{"a:1", "a:2", "b:3", "b:4"}));
    EXPECT_EQ(cloud_endpoints(cloud, 1), (Texts{"a:1", "b:3"}));
    EXPECT_THROW(cloud_endpoints(cloud, 3), UsageError);
}

}  // namespace
}  // namespace dtrain::cluster
