// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what was written into each row, by its number.
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
    arena.for_each([&](const std::byte* row) { ids.push_back(RowArena::id_of(row)); });
    EXPECT_THAT(ids, testing::ElementsAre(1, 2, 3, 5));
}

}  // namespace
}  // namespace dtrain::ps
