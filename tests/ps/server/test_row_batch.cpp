// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: rows as they were pushed; shows and clicks stand behind the gradient of each.
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/server/row_batch.hpp"

namespace dtrain::ps {
namespace {

using testing::ElementsAre;

struct Pushed {
    std::vector<std::int64_t> ids;
    std::vector<float> rows;

    RowGradients once() const { return {0, ids, rows, true}; }
    RowGradients maybe_repeated() const { return {0, ids, rows, false}; }
};

TEST(RowBatches, StayInTheirMessages) {
    const Pushed first{{1, 2}, {1, 2, 3, 4}}, second{{3}, {5, 6}};
    RowBatch batch({.width = 2});
    batch.add(0, first.once());
    batch.add(0, second.once());
    const auto parts = batch.gradients();
    ASSERT_EQ(parts.size(), 2U);
    EXPECT_EQ(parts[0].gradients.data(), first.rows.data());
    EXPECT_EQ(parts[1].ids.data(), second.ids.data());
    EXPECT_TRUE(parts[0].shows.empty());
    batch.clear();
    EXPECT_TRUE(batch.gradients().empty());
}

TEST(RowBatches, WithStatisticsAreTakenApart) {
    const Pushed first{{1, 2}, {10, 11, 3, 1, 20, 21, 4, 0}}, second{{1}, {30, 31, 5, 2}};
    RowBatch batch({.width = 2, .has_statistics = true});
    for (int round = 0; round < 2; ++round) {
        batch.add(0, first.once());
        batch.add(1, second.once());
        ASSERT_EQ(batch.gradients().size(), 1U);
        const auto& all = batch.gradients()[0];
        EXPECT_THAT(all.ids, ElementsAre(1, 2, 1));
        EXPECT_THAT(all.gradients, ElementsAre(10, 11, 20, 21, 30, 31));
        EXPECT_THAT(all.shows, ElementsAre(3, 4, 5));
        EXPECT_THAT(all.clicks, ElementsAre(1, 0, 2));
        batch.clear();
    }
}

TEST(RowBatches, HaveEachIdOnceIfTheirOnlyTrainerSaysSo) {
    const Pushed rows{{1}, {1}};
    RowBatch batch({.width = 1});
    EXPECT_TRUE(batch.has_each_id_once());
    batch.add(1, rows.once());
    batch.add(1, rows.once());
    EXPECT_TRUE(batch.has_each_id_once());
    batch.add(0, rows.once());
    EXPECT_FALSE(batch.has_each_id_once()) << "two trainers may have the same id";
    batch.clear();
    batch.add(0, rows.once());
    EXPECT_TRUE(batch.has_each_id_once());
    batch.add(0, rows.maybe_repeated());
    EXPECT_FALSE(batch.has_each_id_once());
}

}  // namespace
}  // namespace dtrain::ps
