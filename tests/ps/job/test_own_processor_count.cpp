// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: machines written by hand; and that ranks which each run as many threads as they may count as their
// own never need more processors than they may use together, but for one thread each.
#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ps/job/own_processor_count.hpp"

namespace dtrain::ps {
namespace {

std::vector<int> counts(const std::vector<RankProcessors>& ranks) {
    std::vector<int> all;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) all.push_back(own_processor_count(ranks, rank));
    return all;
}

RankProcessors on(const std::string& host, std::string_view processors) {
    return {host, CpuSet::parse(processors)};
}

TEST(OwnProcessorCount, DividesWhatRanksShare) {
    using Counts = std::vector<int>;
    EXPECT_EQ(counts({on("a", "0-7")}), Counts({8}));
    EXPECT_EQ(counts({on("a", "0-1"), on("a", "0-1")}), Counts({1, 1}));
    EXPECT_EQ(counts({on("a", "0-7"), on("a", "0-7"), on("b", "0-7")}), Counts({4, 4, 8}));
    EXPECT_EQ(counts({on("a", "0-3"), on("a", "4-7,9")}), Counts({4, 5}));
    EXPECT_EQ(counts({on("a", "0-3"), on("a", "2-5"), on("a", "4-7")}), Counts({2, 1, 2}));
    EXPECT_EQ(counts({on("a", "0"), on("a", "0"), on("a", "0")}), Counts({1, 1, 1}));
    EXPECT_EQ(counts({on("a", "")}), Counts({1}));
}

TEST(OwnProcessorCount, NeverNeedsMoreProcessorsThanThereAre) {
    std::mt19937 dice(1);
    for (int i = 0; i < 2000; ++i) {
        std::vector<RankProcessors> ranks(1 + dice() % 6);
        for (auto& [host, processors] : ranks) {
            host = dice() % 3 == 0 ? "a" : "b";
            const auto first = static_cast<int>(dice() % 12);
            processors = CpuSet::range(first, first + static_cast<int>(dice() % 9));
            if (dice() % 2 == 0) processors.add(63);
        }
        std::map<std::string, CpuSet> all;
        std::map<std::string, int> above_one;
        for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
            all[ranks[rank].host] = all[ranks[rank].host] | ranks[rank].processors;
            if (const auto own = own_processor_count(ranks, rank); own > 1)
                above_one[ranks[rank].host] += own;
        }
        for (const auto& [host, threads] : above_one) EXPECT_LE(threads, all[host].count());
    }
}

TEST(OwnProcessorCount, OfThisProcessAloneIsAllThatItMayUse) {
    EXPECT_EQ(own_processor_count(Communicator()), CpuSet::of_this_thread().count());
}

TEST(TableThreads, AreThoseWantedOrThoseOfUse) {
    EXPECT_EQ(table_threads(0, 1), 1);
    EXPECT_EQ(table_threads(0, 5), 5);
    EXPECT_EQ(table_threads(0, 64), 8);
    EXPECT_EQ(table_threads(3, 1), 3);
    EXPECT_EQ(table_threads(20, 64), 20);
}

}  // namespace
}  // namespace dtrain::ps
