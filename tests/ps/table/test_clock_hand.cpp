// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: second chance by hand, on few rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/table/clock_hand.hpp"

namespace dtrain::ps {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// Two arenas of four rows; the second one's are 100 to 103 here.
class Clock : public testing::Test {
  protected:
    Clock() {
        arenas.reserve(2);
        for (int i = 0; i < 2; ++i) {
            arenas.emplace_back(std::size_t{16});
            for (std::int64_t id = 0; id < 4; ++id) arenas.back().add(id);
        }
    }

    void use(std::initializer_list<std::uint32_t> rows) {
        for (const auto row : rows) clock.use({row / 100, row % 100});
    }

    std::vector<std::uint32_t> pick(std::uint64_t count) {
        std::vector<std::uint32_t> rows;
        for (const auto& location : clock.pick(count, arenas))
            rows.push_back(100 * location.arena + location.number);
        return rows;
    }

    std::vector<RowArena> arenas;
    ClockHand clock{2};
};

TEST_F(Clock, GoesRound) {
    EXPECT_THAT(pick(3), ElementsAre(0, 1, 2));
    EXPECT_THAT(pick(3), ElementsAre(3, 100, 101));
    EXPECT_THAT(pick(3), ElementsAre(102, 103, 0));
}

TEST_F(Clock, RowsThatWereUsedHaveASecondChance) {
    use({0, 2, 101});
    EXPECT_THAT(pick(4), ElementsAre(1, 3, 100, 102));
    EXPECT_THAT(pick(3), ElementsAre(103, 0, 1));
}

TEST_F(Clock, TakesThoseThatWereUsedWhenThereAreNoOthers) {
    use({0, 1, 2, 3, 100, 101, 102, 103});
    EXPECT_THAT(pick(2), ElementsAre(0, 1));
    use({2, 3});
    EXPECT_THAT(pick(2), ElementsAre(100, 101));
}

TEST_F(Clock, PicksNoRowTwiceAndNoneThatIsFree) {
    use({1});
    arenas[0].give_back(2);
    EXPECT_THAT(pick(100), testing::UnorderedElementsAre(0, 1, 3, 100, 101, 102, 103));
    EXPECT_THAT(pick(100), SizeIs(7));  // as often as one likes
    std::vector<RowArena> empty;
    empty.emplace_back(std::size_t{16});
    EXPECT_THAT(ClockHand(1).pick(5, empty), IsEmpty());
}

}  // namespace
}  // namespace dtrain::ps
