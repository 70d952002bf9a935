// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: std::map, which is told each id in turn.
#include <map>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/table/distinct_ids.hpp"

namespace dtrain::ps {
namespace {

using testing::ElementsAre;

TEST(DistinctIds, SeesThatNoneIsRepeated) {
    DistinctIds distinct;
    EXPECT_FALSE(distinct.find_repeated({}));
    EXPECT_FALSE(distinct.find_repeated(std::vector<std::int64_t>{-1}));
    EXPECT_FALSE(distinct.find_repeated(std::vector<std::int64_t>{INT64_MIN, 0, -1, INT64_MAX, 1}));
}

TEST(DistinctIds, ListsThemInTheOrderInWhichTheyCome) {
    DistinctIds distinct;
    EXPECT_TRUE(distinct.find_repeated(std::vector<std::int64_t>{7, -1, 7, 7, INT64_MIN, -1, 3}));
    EXPECT_THAT(distinct.ids(), ElementsAre(7, -1, INT64_MIN, 3));
    EXPECT_THAT(distinct.indices(), ElementsAre(0, 1, 0, 0, 2, 1, 3));
}

TEST(DistinctIds, AreThoseOfAMapForBatchesOfAnySize) {
    DistinctIds distinct;
    std::mt19937_64 dice(1);
    for (int round = 0; round < 300; ++round) {
        std::vector<std::int64_t> ids(dice() % 500);
        const auto range = 1 + dice() % 4000;
        for (auto& id : ids) id = static_cast<std::int64_t>(dice() % range);
        std::map<std::int64_t, std::uint32_t> index_of;
        std::vector<std::int64_t> in_order;
        std::vector<std::uint32_t> indices;
        for (const auto id : ids) {
            const auto [found, is_new] = index_of.emplace(id, in_order.size());
            if (is_new) in_order.push_back(id);
            indices.push_back(found->second);
        }
        const auto expect_all = [&] {
            EXPECT_THAT(distinct.ids(), testing::ElementsAreArray(in_order));
            EXPECT_THAT(distinct.indices(), testing::ElementsAreArray(indices));
        };
        ASSERT_EQ(distinct.find_repeated(ids), in_order.size() < ids.size());
        if (in_order.size() < ids.size()) expect_all();
        distinct.begin(ids.size());
        std::vector<std::int64_t> added;
        for (auto rest = std::span<const std::int64_t>(ids); !rest.empty();) {
            const auto part = rest.first(1 + dice() % rest.size());
            const auto more = distinct.add(part);
            added.insert(added.end(), more.begin(), more.end());
            rest = rest.subspan(part.size());
        }
        EXPECT_EQ(added, in_order);
        EXPECT_EQ(distinct.has_repeated(), in_order.size() < ids.size());
        expect_all();
        EXPECT_TRUE(distinct.is_of(ids));
        if (ids.empty()) continue;
        ++ids[dice() % ids.size()];
        EXPECT_FALSE(distinct.is_of(ids));
        EXPECT_FALSE(distinct.is_of(std::span(ids).first(ids.size() - 1)));
    }
}

}  // namespace
}  // namespace dtrain::ps
