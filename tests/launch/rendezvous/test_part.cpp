// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: part.hpp; docs/nodes.md: node 0's launcher drives the job, and the others join it.
#include <gtest/gtest.h>

#include "launch/rendezvous/part.hpp"

namespace dtrain::launch {
namespace {

Plan plan_of(std::size_t nodes, std::optional<int> own) {
    Plan plan;
    plan.nodes.resize(nodes);
    plan.own_node = own;
    return plan;
}

TEST(Part, NodeZeroDrivesAndTheOthersJoin) {
    EXPECT_EQ(part_in(plan_of(3, 0), false), Part::coordinator);
    EXPECT_EQ(part_in(plan_of(3, 1), false), Part::agent);
    EXPECT_EQ(part_in(plan_of(3, 2), false), Part::agent);
}

TEST(Part, NobodyJoinsWhereNobodyIsNeeded) {
    EXPECT_EQ(part_in(plan_of(1, 0), false), Part::alone);
    EXPECT_EQ(part_in(plan_of(1, std::nullopt), false), Part::alone);
    EXPECT_EQ(part_in(plan_of(3, std::nullopt), false), Part::alone) << "none of the nodes: ssh reaches them";
    for (const int own : {0, 1})
        EXPECT_EQ(part_in(plan_of(3, own), true), Part::alone) << "the scheduler reaches them";
}

}  // namespace
}  // namespace dtrain::launch
