// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: requests come out in the order of their arrival, of each trainer apart.
#include <chrono>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/server/waiting_requests.hpp"

namespace dtrain::ps {
namespace {

using testing::ElementsAre;
using namespace std::chrono_literals;

Request request_of(std::uint64_t number, std::int64_t step) {
    return {.message = {}, .header = {.step = step, .request = number}, .content = AskedValues{}};
}

/// The number of the request that is taken when requests up to `step` are due; 0: none is.
std::uint64_t taken(WaitingRequests& waiting, std::size_t trainer, std::int64_t step) {
    const auto request =
        waiting.take(trainer, [&](const MessageHeader& header) { return header.step <= step; });
    return request ? request->header.request : 0;
}

TEST(WaitingRequests, TheOldestThatIsDueComesFirst) {
    WaitingRequests waiting(2);
    waiting.add(0, request_of(1, 9), {});
    waiting.add(0, request_of(2, 5), {});
    waiting.add(1, request_of(3, 5), {});
    waiting.add(0, request_of(4, 4), {});
    EXPECT_EQ(waiting.count(), 4U);
    EXPECT_EQ(taken(waiting, 0, 3), 0U);
    EXPECT_EQ(taken(waiting, 0, 5), 2U);
    EXPECT_EQ(taken(waiting, 0, 5), 4U);
    EXPECT_EQ(taken(waiting, 0, 5), 0U);
    EXPECT_EQ(taken(waiting, 1, 5), 3U);
    EXPECT_EQ(waiting.count(), 1U);
}

TEST(WaitingRequests, AllOfATrainerAreTaken) {
    WaitingRequests waiting(2);
    waiting.add(0, request_of(1, 9), {});
    waiting.add(1, request_of(2, 9), {});
    waiting.add(0, request_of(3, 9), {});
    std::vector<std::uint64_t> numbers;
    for (const auto& request : waiting.take_all(0)) numbers.push_back(request.header.request);
    EXPECT_THAT(numbers, ElementsAre(1, 3));
    EXPECT_TRUE(waiting.take_all(0).empty());
    EXPECT_EQ(waiting.count(), 1U);
}

TEST(WaitingRequests, KnowHowLongTheyWait) {
    WaitingRequests waiting(2);
    const WaitingRequests::Time begin{};
    waiting.add(0, request_of(1, 9), begin + 10s);
    waiting.add(0, request_of(2, 9), begin + 20s);
    EXPECT_FALSE(waiting.waits_since(0, begin + 9s));
    EXPECT_TRUE(waiting.waits_since(0, begin + 10s));
    EXPECT_FALSE(waiting.waits_since(1, begin + 24h));
    EXPECT_EQ(taken(waiting, 0, 9), 1U);
    EXPECT_FALSE(waiting.waits_since(0, begin + 19s));
    EXPECT_TRUE(waiting.waits_since(0, begin + 20s));
}

}  // namespace
}  // namespace dtrain::ps
