// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: POSIX environ semantics; a bad number must name variable and value.
#include <gtest/gtest.h>

#include <dtrain/environment.hpp>
#include <dtrain/error.hpp>

namespace dtrain {
namespace {

TEST(Environment, TellsEmptyFromUnset) {
    Environment env{{"A", ""}};
    EXPECT_EQ(env.get("A"), "");
    EXPECT_EQ(env.get("B"), std::nullopt);
    EXPECT_EQ(env.get_or("B", "x"), "x");
}

TEST(Environment, NumbersNameTheVariable) {
    Environment env{{"N", " 12 "}, {"BAD", "1x"}, {"LOW", "-1"}, {"EMPTY", ""}};
    EXPECT_EQ(env.get_int("N"), 12);
    EXPECT_EQ(env.get_int("EMPTY"), std::nullopt);
    try {
        env.get_int("BAD");
        FAIL();
    } catch (const UsageError& error) {
        EXPECT_NE(std::string(error.what()).find("BAD=1x"), std::string::npos) << error.what();
    }
    EXPECT_THROW(env.get_int("LOW"), UsageError);
    EXPECT_EQ(env.get_int("LOW", -1), -1);
}

TEST(Environment, RoundTrip) {
    Environment env{{"B", "2"}, {"A", "x=y"}};
    env.set("C", "3");
    env.unset("B");
    EXPECT_EQ(env.to_strings(), (std::vector<std::string>{"A=x=y", "C=3"}));
}

TEST(Environment, TakesAllOfOthersOverItsOwn) {
    Environment environment{{"A", "1"}, {"B", "2"}};
    environment.set_all({{"B", "3"}, {"C", "4"}});
    EXPECT_EQ(environment, (Environment{{"A", "1"}, {"B", "3"}, {"C", "4"}}));
}

}  // namespace
}  // namespace dtrain
