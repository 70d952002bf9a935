// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what was written into each row, by its number.
#include <cstring>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/table/row_arena.hpp"

namespace dtrain::ps {
namespace {

// Large rows, so that a few of them need several pieces of memory.
constexpr std::size_t large = (std::size_t{1} << 20U) + 12;

TEST(RowArena, RowsStayWhereTheyAreWhenItGrows) {
    RowArena arena(large);
    std::vector<std::byte*> rows;
    for (std::int64_t id = 0; id < 100; ++id) {
        const auto number = arena.add(-id);
        EXPECT_EQ(number, id);
        rows.push_back(arena.row(number));
        rows.back()[large - 1] = static_cast<std::byte>(id);
    }
    for (std::uint32_t number = 0; number < 100; ++number) {
        EXPECT_EQ(arena.row(number), rows[number]);
        EXPECT_EQ(arena.id(number), -std::int64_t{number});
        EXPECT_EQ(rows[number][large - 1], static_cast<std::byte>(number));
    }
}

TEST(RowArena, RowsStayWhereTheyAreReserved) {
    RowArena arena(large);
    arena.add(-1);
    arena.reserve(100);
    EXPECT_GE(arena.reserved(), 100U);
    EXPECT_EQ(arena.size(), 1U);
    EXPECT_LT(arena.bytes(), 2 * large);
    const auto reserved = arena.reserved();
    auto* const last = arena.row(99);
    EXPECT_EQ(arena.add_many(99), 1U);
    std::memset(last, 1, large);
    EXPECT_EQ(arena.row(99), last);
    EXPECT_EQ(arena.reserved(), reserved);
    EXPECT_EQ(arena.id(0), -1);
    arena.reserve(7);
    EXPECT_EQ(arena.reserved(), reserved);
}

TEST(RowArena, SettlesFullPagesAndKeepsWhatIsInThem) {
    constexpr std::size_t odd = 4 * 4099;  // no page ends where a row does, nor a piece where a page does
    RowArena arena(odd);
    EXPECT_FALSE(arena.settle());
    std::vector<std::byte*> rows;
    int settled = 0;
    for (std::int64_t id = 0; id < 5000; ++id) {
        rows.push_back(arena.row(arena.add(id)));
        std::memset(rows.back() + 8, static_cast<int>(id % 251), odd - 8);
        if (id % 1700 == 0)
            while (arena.settle()) ++settled;
    }
    while (arena.settle()) ++settled;
    EXPECT_GT(settled, 30);
    EXPECT_LE(settled, static_cast<int>(5000 * odd >> 21U));
    for (std::uint32_t number = 0; number < rows.size(); ++number) {
        ASSERT_EQ(arena.row(number), rows[number]);
        ASSERT_EQ(arena.id(number), number);
        ASSERT_EQ(rows[number][8], static_cast<std::byte>(number % 251));
        ASSERT_EQ(rows[number][odd - 1], static_cast<std::byte>(number % 251));
    }
}

TEST(RowArena, UsesRowsAgainThatWereGivenBack) {
    RowArena arena(12);
    for (std::int64_t id = 0; id < 10; ++id) arena.add(id);
    arena.give_back(3);
    arena.give_back(9);
    EXPECT_EQ(arena.size(), 8U);
    const std::set<std::uint32_t> again{arena.add(33), arena.add(99)};
    EXPECT_THAT(again, testing::ElementsAre(3, 9));
    EXPECT_EQ(arena.add(10), 10U);
    EXPECT_EQ(arena.size(), 11U);
}

TEST(RowArena, VisitsRowsInUseInTheirOrder) {
    RowArena arena(12);
    for (std::int64_t id = 0; id < 6; ++id) arena.add(id);
    arena.give_back(0);
    arena.give_back(4);
    std::vector<std::int64_t> ids;
    arena.for_each([&](std::uint32_t number) { ids.push_back(arena.id(number)); });
    EXPECT_THAT(ids, testing::ElementsAre(1, 2, 3, 5));
}

}  // namespace
}  // namespace dtrain::ps
