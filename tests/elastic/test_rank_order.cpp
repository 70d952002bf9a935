// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the rules and the example of Paddle's elastic manager (a replacement takes the lost node's
// position; new hosts are appended; survivors keep their index where it still fits; 0,1,2,3 minus 0 gives
// 3,1,2), and what must hold after any joins and leaves, seeded.
#include <algorithm>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "elastic/rank_order.hpp"

namespace dtrain::elastic {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Names = std::vector<std::string>;

TEST(RankOrder, ArrivalAtTheFirstStart) {
    EXPECT_THAT(rank_order({}, {"b", "a", "c"}, 3), ElementsAre("b", "a", "c"));
    EXPECT_THAT(rank_order({}, {"b", "a", "c"}, 2), ElementsAre("b", "a"));
    EXPECT_THAT(rank_order({}, {}, 2), IsEmpty());
}

TEST(RankOrder, ReplacementTakesTheLostPlace) {
    EXPECT_THAT(rank_order({"0", "1", "2"}, {"2", "0", "new"}, 3), ElementsAre("0", "new", "2"));
    EXPECT_THAT(rank_order({"0", "1", "2"}, {"2", "x", "y"}, 3), ElementsAre("x", "y", "2"));
}

TEST(RankOrder, NewNodesAreAppended) {
    EXPECT_THAT(rank_order({"0", "1"}, {"x", "1", "0", "y"}, 4), ElementsAre("0", "1", "x", "y"));
}

TEST(RankOrder, TheLastFillHolesOfFewerNodes) {
    EXPECT_THAT(rank_order({"0", "1", "2", "3"}, {"1", "2", "3"}, 4), ElementsAre("3", "1", "2"));
    EXPECT_THAT(rank_order({"0", "1", "2", "3"}, {"3", "2"}, 4), ElementsAre("2", "3"));
    EXPECT_THAT(rank_order({"0", "1", "2", "3"}, {"0", "1", "2"}, 4), ElementsAre("0", "1", "2"));
}

TEST(RankOrder, SurvivorsComeBeforeNewcomers) {
    EXPECT_THAT(rank_order({"0", "1", "2", "3"}, {"x", "2", "3"}, 4), ElementsAre("3", "x", "2"));
    EXPECT_THAT(rank_order({"0", "1", "2"}, {"x", "y", "2", "1"}, 2), ElementsAre("2", "1"));
}

TEST(RankOrder, TheLastLeaveWhenFewerAreWanted) {
    EXPECT_THAT(rank_order({"0", "1", "2", "3"}, {"3", "2", "1", "0"}, 2), ElementsAre("0", "1"));
    EXPECT_THAT(rank_order({"0", "1", "2", "3"}, {"3", "2"}, 1), ElementsAre("2"));
}

/// A job's life: nodes come and go between starts.
class Life {
  public:
    explicit Life(std::uint64_t seed) : engine_(seed) {}

    void check() {
        for (int step = 0; step < 30; ++step) {
            const auto before = order_;
            join_and_leave();
            const int max = 1 + below(8);
            order_ = rank_order(before, alive_, max);
            check_step(before, max);
            if (testing::Test::HasFailure()) return;
        }
    }

  private:
    int below(int limit) { return static_cast<int>(engine_() % static_cast<unsigned>(limit)); }

    void join_and_leave() {
        for (int changes = below(4); changes > 0; --changes)
            if (alive_.empty() || below(2) == 0)
                alive_.push_back("n" + std::to_string(next_++));
            else
                alive_.erase(alive_.begin() + below(static_cast<int>(alive_.size())));
        if (!alive_.empty() && below(5) == 0)  // a lease that ran out: the node comes again, as the last
            std::rotate(alive_.begin(), alive_.begin() + 1, alive_.end());
    }

    void check_step(const Names& before, int max) const {
        SCOPED_TRACE(testing::PrintToString(before) + " " + testing::PrintToString(alive_) + " at most " +
                     std::to_string(max) + " -> " + testing::PrintToString(order_));
        const std::set<std::string> alive(alive_.begin(), alive_.end());
        const std::set<std::string> chosen(order_.begin(), order_.end());
        EXPECT_EQ(order_.size(), std::min(alive_.size(), static_cast<std::size_t>(max)));
        EXPECT_EQ(chosen.size(), order_.size()) << "each once";
        EXPECT_TRUE(std::includes(alive.begin(), alive.end(), chosen.begin(), chosen.end()));
        for (std::size_t rank = 0; rank < before.size(); ++rank) {
            if (!alive.contains(before[rank])) continue;
            if (rank < order_.size()) {
                EXPECT_EQ(order_[rank], before[rank]) << "a survivor moved though its rank is there";
            }
        }
        const auto is_newcomer = [&](const std::string& name) {
            return std::find(before.begin(), before.end(), name) == before.end();
        };
        if (std::any_of(order_.begin(), order_.end(), is_newcomer)) {
            for (const auto& name : before)
                EXPECT_TRUE(!alive.contains(name) || chosen.contains(name))
                    << "a newcomer displaced " << name;
        }
        EXPECT_EQ(rank_order(order_, alive_, max), order_) << "another start with the same nodes";
    }

    std::mt19937_64 engine_;
    Names alive_, order_;
    int next_ = 0;
};

TEST(RankOrder, HoldsItsRulesThroughAnyLife) {
    for (std::uint64_t seed = 0; seed < 500 && !HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Life(seed).check();
    }
}

}  // namespace
}  // namespace dtrain::elastic
