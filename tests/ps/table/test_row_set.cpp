// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: std::set given the same insertions and removals.
#include <iterator>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "ps/table/row_set.hpp"

namespace dtrain::ps {
namespace {

using Numbers = std::set<std::uint64_t>;

/// By runs, which must be as long as they can within 64 numbers.
Numbers numbers_in(const RowSet& set) {
    Numbers numbers;
    for (auto run = set.next_run(0); run.begin != run.end; run = set.next_run(run.end)) {
        EXPECT_EQ(run.begin / 64, (run.end - 1) / 64);
        for (auto number = run.begin; number < run.end; ++number) numbers.insert(number);
        EXPECT_TRUE(run.end % 64 == 0 || !set.contains(static_cast<std::uint32_t>(run.end)));
    }
    EXPECT_EQ(set.size(), numbers.size());
    return numbers;
}

struct Sample {
    RowSet set;
    Numbers expected;
};

Sample sample(unsigned seed) {
    Sample out;
    std::mt19937 dice(seed);
    for (int i = 0; i < 4000; ++i) {
        // Neighbours, and numbers that are pieces of memory apart.
        const auto number = dice() % 700 + dice() % 5 * 100000 + (dice() % 100 == 0 ? 4294000000U : 0U);
        if (dice() % 3 == 0) {
            out.set.erase(number);
            out.expected.erase(number);
        } else {
            out.set.insert(number);
            out.expected.insert(number);
        }
    }
    return out;
}

TEST(RowSet, IsASet) {
    for (unsigned seed = 0; seed < 5; ++seed) {
        const auto [set, expected] = sample(seed);
        EXPECT_EQ(numbers_in(set), expected);
        for (std::uint32_t number = 0; number < 800; ++number)
            ASSERT_EQ(set.contains(number), expected.contains(number)) << number;
    }
    EXPECT_FALSE(RowSet().contains(4294967295U));
    EXPECT_EQ(numbers_in(RowSet()), Numbers());
}

TEST(RowSet, BeginsWithTheFirstNumbers) {
    for (const std::uint64_t count : {0U, 1U, 63U, 64U, 65U, 65535U, 65536U, 65537U, 200000U}) {
        RowSet set;
        set.insert_first(count);
        const auto numbers = numbers_in(set);
        EXPECT_EQ(numbers.size(), count);
        EXPECT_TRUE(count == 0 || *numbers.rbegin() == count - 1);
    }
}

TEST(RowSet, CombinesSets) {
    const auto a = sample(7), b = sample(8);
    Numbers both = a.expected, common, rest;
    both.insert(b.expected.begin(), b.expected.end());
    for (const auto number : a.expected) (b.expected.contains(number) ? common : rest).insert(number);
    RowSet united = sample(7).set, kept = sample(7).set, left = sample(7).set;
    united.insert_all(b.set);
    kept.keep_only(b.set);
    left.erase_all(b.set);
    EXPECT_EQ(numbers_in(united), both);
    EXPECT_EQ(numbers_in(kept), common);
    EXPECT_EQ(numbers_in(left), rest);
    EXPECT_FALSE(common.empty());
    EXPECT_FALSE(rest.empty());
}

TEST(RowSet, TakesAboutABitANumber) {
    RowSet set;
    set.insert_first(1000000);
    EXPECT_GE(set.bytes(), 1000000U / 8);
    EXPECT_LE(set.bytes(), 1000000U / 8 + 10000);
}

}  // namespace
}  // namespace dtrain::ps
