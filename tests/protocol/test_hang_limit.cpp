// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the values of the option's description.
#include <gtest/gtest.h>

#include "protocol/hang_limit.hpp"

namespace dtrain::cluster {
namespace {

using namespace std::chrono_literals;

TEST(HangLimit, IsSecondsOrLearned) {
    const struct {
        const char* text;
        HangLimit limit;
    } cases[] = {{"0", {0s, false}},          {"600", {600s, false}},  {"2.5", {2500ms, false}},
                 {"864000", {240h, false}},   {"auto", {60s, true}},   {"auto:15", {15s, true}},
                 {"auto:0.5", {500ms, true}}, {"auto:60", {60s, true}}};
    for (const auto& [text, limit] : cases) {
        EXPECT_EQ(parse_hang_limit(text), limit) << text;
        EXPECT_EQ(parse_hang_limit(to_string(limit)), limit) << text;
        EXPECT_EQ(limit.watches(), limit.time != 0s) << text;
    }
    EXPECT_EQ(to_string({60s, true}), "auto");
    EXPECT_EQ(to_string({15s, true}), "auto:15");
    EXPECT_EQ(to_string({90s, false}), "90");
}

TEST(HangLimit, NothingElseIs) {
    for (const char* text : {"", "-1", "864001", "soon", "1s", "nan", "inf", "auto:", "auto:0", "auto:-1",
                             "auto15", "Auto", "auto:nan", "auto:auto", "5 "})
        EXPECT_FALSE(parse_hang_limit(text)) << text;
}

}  // namespace
}  // namespace dtrain::cluster
