// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: Paddle's --np ("N" or "MIN:MAX") and --scale (a number of nodes to add); by hand.
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "elastic/node_count.hpp"
#include "support/message_of.hpp"

namespace dtrain::elastic {
namespace {

using tests::message_of;

TEST(NodeCount, IsANumberOrARange) {
    EXPECT_EQ(parse_node_count("--np", "2"), (NodeCount{2, 2}));
    EXPECT_EQ(parse_node_count("--np", "2:4"), (NodeCount{2, 4}));
    EXPECT_EQ(parse_node_count("--np", "3:3"), (NodeCount{3, 3}));
    EXPECT_FALSE(parse_node_count("--np", "3:3").is_range());
    EXPECT_EQ((NodeCount{2, 4}.to_string()), "2:4");
    EXPECT_EQ((NodeCount{3, 3}.to_string()), "3");
}

TEST(NodeCount, RefusesAnythingElse) {
    for (const char* text : {"", "0", "-1", "a", "2:", ":2", "4:2", "0:2", "1:2:3", "1000001", "2.5", "+"})
        EXPECT_NE(message_of([&] { parse_node_count("--np", text); }).find("--np"), std::string::npos)
            << text;
}

TEST(NodeCount, ScalesByWhatIsGiven) {
    EXPECT_EQ(scaled({2, 2}, "1"), (NodeCount{3, 3}));
    EXPECT_EQ(scaled({2, 2}, "+2"), (NodeCount{4, 4}));
    EXPECT_EQ(scaled({2, 2}, "-1"), (NodeCount{1, 1}));
    EXPECT_EQ(scaled({2, 4}, "+1"), (NodeCount{2, 5}));
    EXPECT_EQ(scaled({2, 4}, "-1"), (NodeCount{2, 3}));
    EXPECT_EQ(scaled({2, 4}, "-3"), (NodeCount{1, 1})) << "the lower end gives way";
}

TEST(NodeCount, RefusesScalesThatLeaveNothing) {
    for (const char* text : {"", "0", "+0", "x", "++1", "+-1", "1.5", "-2", "2000000", "-3000000000"})
        EXPECT_NE(message_of([&] { scaled({2, 2}, text); }).find("--scale"), std::string::npos) << text;
}

}  // namespace
}  // namespace dtrain::elastic
