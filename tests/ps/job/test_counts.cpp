// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: sums worked out by hand, of tables whose counts are all different.
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/job/counts.hpp"
#include "ps/small_server.hpp"
#include "support/message_of.hpp"

namespace dtrain::ps {
namespace {

using testing::HasSubstr;
using tests::message_of;

TEST(ServerCounts, AreThoseOfAllTablesAndAllServers) {
    const auto transports = comm::local_transports(1);
    std::vector<ServerTable> tables;
    for (const std::uint64_t times : {1U, 10U}) {
        auto& table = tables.emplace_back(std::move(one_table().front())).table;
        std::vector<float> row(1);
        for (std::uint64_t id = 0; id < times; ++id)
            table.pull(std::vector<std::int64_t>{static_cast<std::int64_t>(id)}, row);
        table.set_counts(
            {.inserted = 2 * times, .evicted = 3 * times, .rejected = 4 * times, .dropped = 5 * times});
    }
    const Server server({.trainers = {1}}, two_zeros(1), std::move(tables), *transports[0]);
    const auto one = counts_of(server);
    const auto all = sum_of(std::vector<std::string>{to_text(one), to_text(one)});
    for (const auto& [counts, servers] : {std::pair(one, 1U), std::pair(all, 2U)}) {
        EXPECT_EQ(counts.rows, servers * 11);
        EXPECT_EQ(counts.inserted, servers * 22);
        EXPECT_EQ(counts.evicted, servers * 33);
        EXPECT_EQ(counts.rejected, servers * 44);
        EXPECT_EQ(counts.dropped, servers * 55);
        EXPECT_EQ(counts.bytes, servers * one.bytes);
    }
    EXPECT_THAT(message_of<Error>([] { sum_of(std::vector<std::string>{"{}"}); }),
                HasSubstr("a server's counts are none"));
}

}  // namespace
}  // namespace dtrain::ps
