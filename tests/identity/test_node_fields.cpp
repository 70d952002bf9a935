// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the form that node_fields.hpp describes, written by hand, and the fields that went in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "identity/node_fields.hpp"

namespace dtrain::cluster {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(NodeFields, OneNodeIsItsPlainText) {
    EXPECT_EQ(join_node_fields({"0-3;4-7"}), "0-3;4-7");
    EXPECT_EQ(node_field("X", "0-3;4-7", 0), "0-3;4-7");
}

TEST(NodeFields, NodesAlikeAreCounted) {
    EXPECT_EQ(join_node_fields({"a", "a", "a"}), "3*a");
    EXPECT_EQ(join_node_fields({"a", "b", "b", "", ""}), "a|2*b|2*");
    EXPECT_EQ(join_node_fields(std::vector<std::string>(10'000, "0;1")), "10000*0;1");
}

TEST(NodeFields, EveryNodeFindsItsOwn) {
    const std::vector<std::string> fields{"a", "b", "b", "", "", "c", "2*d", "*"};
    const auto text = join_node_fields(fields);
    for (std::size_t node = 0; node < fields.size(); ++node)
        EXPECT_EQ(node_field("X", text, static_cast<int>(node)), fields[node]) << node;
}

TEST(NodeFields, WhatDoesNotFitIsNamed) {
    EXPECT_THAT([] { node_field("DTRAIN_CPUS", "2*a|b", 3); },
                ThrowsMessage<UsageError>(
                    AllOf(HasSubstr("DTRAIN_CPUS=2*a|b"), HasSubstr("3 nodes"), HasSubstr("node 3"))));
    for (const char* wrong : {"x*a", "*a", "0*a", "-1*a", "99999999999*a"})
        EXPECT_THAT([&] { node_field("DTRAIN_CPUS", wrong, 0); },
                    ThrowsMessage<UsageError>(HasSubstr(wrong)));
}

}  // namespace
}  // namespace dtrain::cluster
