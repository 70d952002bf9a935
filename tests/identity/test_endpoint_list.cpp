// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: "host:port" lists as Paddle writes them, and the form that the header tells; both come back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "identity/endpoint_list.hpp"
#include "identity/long_value.hpp"

namespace dtrain::cluster {
namespace {

using testing::ElementsAre;

TEST(EndpointList, ShortOnesAreWrittenOut) {
    const std::vector<std::string> two{"a:6170", "a:6171"};
    EXPECT_EQ(endpoint_list(two), "a:6170,a:6171");
    EXPECT_EQ(parse_endpoint_list("a:6170,a:6171"), two);
}

TEST(EndpointList, ReadsRanges) {
    EXPECT_THAT(
        parse_endpoint_list("node-1:6170-6172,[fe80::1]:7-8,b-2:9"),
        ElementsAre("node-1:6170", "node-1:6171", "node-1:6172", "[fe80::1]:7", "[fe80::1]:8", "b-2:9"));
    for (const char* text : {"a:2-1", "a:-1", "a:1-", "a:1-70000", "a:0-1", "a:x-y"})
        EXPECT_THROW(parse_endpoint_list(text), UsageError) << text;
}

TEST(EndpointList, LongOnesBecomeShort) {
    std::vector<std::string> endpoints;
    for (int node = 0; node < 10'000; ++node)
        for (int rank = 0; rank < 8; ++rank)
            endpoints.push_back("node-" + std::to_string(node) + ":" + std::to_string(26'198 + rank));
    endpoints.push_back("odd:1");
    endpoints.push_back("odd:3");
    const auto text = endpoint_list(endpoints);
    EXPECT_LT(text.size(), 250'000U);
    EXPECT_GT(text.size(), max_value);
    EXPECT_EQ(parse_endpoint_list(text), endpoints);
}

TEST(EndpointsFile, IsPaddlesEndpointsLog) {
    EXPECT_EQ(endpoints_file({"a:1", "b:2"}), "PADDLE_TRAINER_ENDPOINTS:\na:1\nb:2\n");
}

}  // namespace
}  // namespace dtrain::cluster
