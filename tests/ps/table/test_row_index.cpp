// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: std::map given the same additions and removals; for the numbers of placement and of hashes, another
// implementation of SplitMix64 (Python).
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ends_of_ids.hpp"
#include "ps/table/bulk_load.hpp"
#include "ps/table/row_index.hpp"

namespace dtrain::ps {
namespace {

constexpr std::size_t row_bytes = 12;

void write(std::byte* row, std::int32_t value) {
    std::memcpy(row + 8, &value, sizeof(value));
}

std::int32_t value_of(const std::byte* row) {
    std::int32_t value = 0;
    std::memcpy(&value, row + 8, sizeof(value));
    return value;
}

TEST(IdHash, HasTheKnownValues) {
    EXPECT_EQ(slot_hash(0), 0xe220a8397b1dcdafU);
    EXPECT_EQ(slot_hash(-1), 0xe4d971771b652c20U);
    const std::vector<std::int64_t> ids{0, 1, 2, 3, -1, min, max};
    std::vector<std::uint32_t> of_two, of_three, of_thousand;
    for (const auto id : ids) {
        of_two.push_back(server_of(id, 2));
        of_three.push_back(server_of(id, 3));
        of_thousand.push_back(server_of(id, 1000));
    }
    EXPECT_THAT(of_two, testing::ElementsAre(0, 0, 0, 1, 1, 1, 1));
    EXPECT_THAT(of_three, testing::ElementsAre(0, 0, 0, 1, 2, 1, 2));
    EXPECT_THAT(of_thousand, testing::ElementsAre(251, 14, 198, 615, 768, 647, 769));
}

TEST(RowIndex, TakesEveryIdThatThereIs) {
    RowIndex index(row_bytes, 1);
    const std::vector<std::int64_t> ids{0, 1, -1, -2, min, min + 1, max, max - 1};
    for (const auto id : ids) EXPECT_EQ(index.find(HashedId(id)).bytes, nullptr) << id;
    for (std::size_t i = 0; i < ids.size(); ++i)
        write(index.add(HashedId(ids[i])).bytes, static_cast<std::int32_t>(i));
    for (std::size_t i = 0; i < ids.size(); ++i)
        EXPECT_EQ(value_of(index.find(HashedId(ids[i])).bytes), static_cast<std::int32_t>(i)) << ids[i];
    EXPECT_EQ(index.size(), ids.size());
}

TEST(RowIndex, IsAMapUnderAnyAdditionsAndRemovals) {
    for (const std::size_t arenas : {1, 5}) {
        RowIndex index(row_bytes, arenas);
        std::map<std::int64_t, std::int32_t> expected;
        std::mt19937_64 dice(arenas);
        for (int step = 0; step < 300000; ++step) {
            const auto id = static_cast<std::int64_t>(dice() % 60000) - 30000;
            const HashedId hashed(id);
            if (step % 100000 > 70000) {
                EXPECT_EQ(index.erase(hashed), expected.erase(id) == 1);
            } else if (auto* row = index.find(hashed).bytes; row != nullptr) {
                ASSERT_EQ(value_of(row), expected.at(id));
                write(row, step);
                expected[id] = step;
            } else {
                ASSERT_FALSE(expected.contains(id));
                write(index.add(hashed).bytes, step);
                expected[id] = step;
            }
            if (step % 100000 == 99999) index.tidy();
        }
        std::map<std::int64_t, std::int32_t> found;
        index.for_each([&](const FoundRow& row) { found[RowArena::id_of(row.bytes)] = value_of(row.bytes); });
        EXPECT_EQ(found, expected);
        EXPECT_EQ(index.size(), expected.size());
    }
}

TEST(RowIndex, LooksUpABatchAsOneByOne) {
    RowIndex index(row_bytes, 1);
    std::mt19937_64 dice(1);
    for (int i = 0; i < 20000; ++i)
        if (const HashedId id(static_cast<std::int64_t>(dice() % 50000)); index.find(id).bytes == nullptr)
            index.add(id);
    for (const std::size_t n : {0, 1, 15, 16, 17, 63, 64, 65, 1000}) {
        std::vector<std::int64_t> ids(n);
        for (auto& id : ids) id = static_cast<std::int64_t>(dice() % 50000);
        std::size_t next = 0;
        index.look_up(ids, [&](std::size_t i, const HashedId& id, const FoundRow& row) {
            EXPECT_EQ(i, next++);
            EXPECT_EQ(id.id, ids[i]);
            EXPECT_EQ(row.bytes, index.find(HashedId(ids[i])).bytes);
        });
        EXPECT_EQ(next, n);
    }
}

TEST(RowIndex, FindsRowsThatTheSameBatchHasAdded) {
    RowIndex index(row_bytes, 1);
    std::vector<std::int64_t> ids;
    for (std::int64_t i = 0; i < 5000; ++i) ids.push_back(i % 700);
    index.look_up(ids, [&](std::size_t i, const HashedId& id, const FoundRow& row) {
        EXPECT_EQ(row.bytes == nullptr, i < 700);
        if (row.bytes == nullptr) index.add(id);
    });
    EXPECT_EQ(index.size(), 700U);
}

// Each set's number of ids within a quarter of its part: 7% for the parabola, and five standard deviations.
void expect_even(const std::function<std::int64_t(std::int64_t)>& id_of) {
    constexpr std::int64_t ids = 1200 * 1024;
    std::vector<int> counts(RowIndex::sets);
    for (std::int64_t i = 0; i < ids; ++i) ++counts[RowIndex::set_of(slot_hash(id_of(i)))];
    for (std::size_t set = 0; set < RowIndex::sets; ++set) {
        const auto fraction =
            std::exp2((static_cast<double>(set) + 0.5) / RowIndex::sets) * std::log(2.0) / RowIndex::sets;
        EXPECT_NEAR(counts[set] / (fraction * ids), 1.0, 0.25) << set;
    }
}

TEST(RowIndex, FillsItsSetsByTheirSizesWhateverTheIds) {
    expect_even([](std::int64_t i) { return i; });
    expect_even([](std::int64_t i) { return 7 + 1000 * i; });
    expect_even(
        [](std::int64_t i) { return static_cast<std::int64_t>(static_cast<std::uint64_t>(i) << 40U); });
}

TEST(RowIndex, FillsItsSetsByTheirSizesWithTheIdsOfOneServer) {
    std::int64_t id = -1;
    expect_even([&](std::int64_t) {
        while (server_of(++id, 3) != 1) continue;
        return id;
    });
}

TEST(RowIndex, TakesAsMuchForRowsThatComeTogetherAsForGrowth) {
    for (const std::size_t rows : {1000, 150000, 210000, 290000}) {
        RowIndex grown(row_bytes, 1), loaded(row_bytes, 1);
        BulkLoad load(loaded, rows);
        std::mt19937_64 dice(rows);
        for (std::size_t i = 0; i < rows; ++i) {
            const auto id = static_cast<std::int64_t>(dice());
            std::array<std::byte, row_bytes> row{};
            std::memcpy(row.data(), &id, sizeof(id));
            grown.add(HashedId(id));
            load.add(row);
        }
        EXPECT_EQ(load.finish(), std::nullopt);
        ASSERT_EQ(loaded.size(), rows);
        // Growth leaves a few blocks of sets that have doubled.
        const auto ratio = static_cast<double>(loaded.bytes()) / static_cast<double>(grown.bytes());
        EXPECT_LE(ratio, 1.01) << rows;
        EXPECT_GE(ratio, 0.95) << rows;
    }
}

TEST(RowIndex, TakesAtMostTwentyBytesBesideThePayloadAtAnyFill) {
    RowIndex index(row_bytes, 1);
    std::mt19937_64 dice(1);
    for (std::size_t rows = 1; rows <= 1500000; ++rows) {
        index.add(HashedId(static_cast<std::int64_t>(dice())));
        if (rows < 100000 || rows % 50000 != 0) continue;
        const auto beside = static_cast<double>(index.bytes()) / static_cast<double>(rows) - (row_bytes - 8);
        EXPECT_LE(beside, 20.0) << rows;
        EXPECT_GE(beside, 8 + 5) << rows;
    }
}

}  // namespace
}  // namespace dtrain::ps
