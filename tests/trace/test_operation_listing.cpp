// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what was written to a log by this process; the text of the header.
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/temporary_folder.hpp"
#include "trace/operation_listing.hpp"
#include "trace/operation_log.hpp"

namespace dtrain::trace {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

TEST(OperationListing, HasALinePerOperation) {
    const Operation sum{.group = "ranks 0-3",
                        .number = 41,
                        .name = "allreduce",
                        .type = "float32",
                        .reduction = "sum",
                        .source = "t.py:12",
                        .count = 1024};
    Operation next = sum;
    next.number = 42;
    next.waited = 4900ms;
    Operation pending = sum;
    pending.number = 43;
    EXPECT_EQ(operation_listing({{sum, 5200ms, 800us}, {next, 5s, {}}, {pending, 1ms, {}}}),
              "allreduce 41 (float32 x 1024, sum) of ranks 0-3 at t.py:12: began 5.200 s ago, took 0.800 ms\n"
              "allreduce 42 (float32 x 1024, sum) of ranks 0-3 at t.py:12: began 5.000 s ago, goes on, "
              "waited for since "
              "4.90 s\n"
              "allreduce 43 (float32 x 1024, sum) of ranks 0-3 at t.py:12: began 0.001 s ago, goes on\n");
    EXPECT_EQ(operation_listing({}), "");
}

TEST(OperationListing, OfALogHasAllThatAreThere) {
    const TemporaryFolder folder;
    OperationLog log(folder.path());
    const std::vector<int> members{0, 1};
    const auto group = log.group("dp", 0, 2, members);
    for (std::uint64_t number = 1; number <= 1500; ++number) {
        const auto ticket = log.begin(
            {.group = group, .number = number, .name = log.text("barrier"), .count = unknown_count});
        if (number == 1500) {
            log.waits(ticket);
            std::this_thread::sleep_for(2ms);
        } else {
            log.end(ticket);
        }
    }
    const auto files = operation_logs_of(folder.path());
    ASSERT_EQ(files.size(), 1U);
    const auto operations = operations_in_log(files[0], std::chrono::steady_clock::now().time_since_epoch());
    ASSERT_EQ(operations.size(), 1024U);
    EXPECT_EQ(operations.front().operation.number, 1500U - 1023U);
    EXPECT_EQ(operations.front().operation.group, "dp");
    EXPECT_TRUE(operations.front().took.has_value());
    EXPECT_GE(operations.front().age, *operations.front().took + 2ms);
    EXPECT_EQ(operations.back().operation.number, 1500U);
    EXPECT_FALSE(operations.back().took.has_value());
    EXPECT_TRUE(operations.back().operation.waited.has_value());
}

TEST(OperationListing, OfWhatIsNoLogIsEmpty) {
    const TemporaryFolder folder;
    EXPECT_TRUE(operations_in_log(std::filesystem::path(folder.path()) / "none", 0ns).empty());
    EXPECT_TRUE(operation_logs_of(folder.path()).empty());
}

}  // namespace
}  // namespace dtrain::trace
