// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: hand-worked examples.
#include <gtest/gtest.h>

#include "base/text.hpp"

namespace dtrain {
namespace {

TEST(Text, SplitKeepsEmptyParts) {
    EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
    EXPECT_EQ(split("", ','), (std::vector<std::string>{""}));
}

TEST(Text, Trimmed) {
    EXPECT_EQ(trimmed("  a b\t\n"), "a b");
    EXPECT_EQ(trimmed(" \n"), "");
}

TEST(Text, ParseIntTakesTheWholeTextOnly) {
    EXPECT_EQ(parse_int("42"), 42);
    EXPECT_EQ(parse_int("42 "), std::nullopt);
    EXPECT_EQ(parse_int(""), std::nullopt);
    EXPECT_EQ(parse_int("99999999999"), std::nullopt);
}

TEST(Text, NearestFindsTypingMistakes) {
    const std::vector<std::string> known{"learning_rate", "batch", "epochs"};
    EXPECT_EQ(nearest("learning-rate", known), "learning_rate");
    EXPECT_EQ(nearest("bacth", known), "batch");
    EXPECT_EQ(nearest("zzzzzzzz", known), std::nullopt);
}

}  // namespace
}  // namespace dtrain
