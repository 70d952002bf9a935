// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the optimizer's formula worked out by hand for small whole numbers, which floats hold exactly; the
// rules of admission and eviction as their comments state them. That updates have the bits of a Program's is
// test_program_updates.cpp's matter.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ends_of_ids.hpp"
#include "ps/table/sparse_table.hpp"
#include "support/message_of.hpp"

namespace dtrain::ps {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using tests::message_of;
using Ids = std::vector<std::int64_t>;
using Floats = std::vector<float>;

TableOptions small(std::size_t width = 2) {
    return {.name = "clicks", .width = width, .seed = 3, .initializer = UniformRow{1}, .optimizer = Sgd{1}};
}

Floats pulled(SparseTable& table, const Ids& ids) {
    Floats rows(ids.size() * table.width(), -9.0F);
    table.pull(ids, rows);
    return rows;
}

Floats found(const SparseTable& table, const Ids& ids) {
    Floats rows(ids.size() * table.width(), -9.0F);
    table.find(ids, rows);
    return rows;
}

/// All that a table holds.
std::map<std::int64_t, Floats> table_content(const SparseTable& table) {
    std::map<std::int64_t, Floats> rows;
    table.for_each([&](const TableRow& row) {
        auto& all = rows[row.id];
        all.assign(row.weights.begin(), row.weights.end());
        all.insert(all.end(), row.state.begin(), row.state.end());
        all.insert(all.end(), {row.shows, row.clicks, static_cast<float>(row.last_day)});
    });
    return rows;
}

TEST(SparseTable, RowsDoNotDependOnTheOrderInWhichIdsCome) {
    const Ids ids{5, -1, min, max, 0, 1234567890123456789};
    SparseTable forward(small()), backward(small());
    pulled(forward, ids);
    for (auto id = ids.rbegin(); id != ids.rend(); ++id) pulled(backward, {*id});
    EXPECT_EQ(table_content(forward), table_content(backward));
    EXPECT_EQ(forward.size(), ids.size());
    EXPECT_EQ(pulled(forward, ids), found(SparseTable(small()), ids));
}

TEST(SparseTable, AnIdThatComesTwiceHasOneRow) {
    SparseTable table(small());
    const auto rows = pulled(table, {7, 8, 7});
    EXPECT_EQ(table.size(), 2U);
    EXPECT_EQ(Floats(rows.begin(), rows.begin() + 2), Floats(rows.begin() + 4, rows.end()));
}

TEST(SparseTable, PushTakesTheGradientOff) {
    auto options = small();
    options.initializer = ConstantRow{10};
    SparseTable table(options);
    table.push({Ids{1, -1}, Floats{1, 2, 3, 4}});
    EXPECT_THAT(found(table, {-1, 1, 2}), ElementsAre(7, 6, 9, 8, 10, 10));
    EXPECT_EQ(table.size(), 2U);
    table.push({Ids{1}, Floats{1, 1}}, {.step = 2, .learning_rate = 0.5});
    EXPECT_THAT(found(table, {1}), ElementsAre(8.5, 7.5));
}

TEST(SparseTable, AddsGradientsOfAnIdInTheOrderOfTheBatchAndUpdatesOnce) {
    auto options = small(1);
    options.initializer = ConstantRow{0};
    options.optimizer = Momentum{.learning_rate = 1, .mu = 0.5};
    SparseTable table(options);
    // 2^24 + 1 is 2^24 in floats: of 1, 2^24, -2^24 only one order leaves 1, and other orders leave 0.
    constexpr float large = 16777216;
    table.push({Ids{4, 4, 9, 4}, Floats{large, -large, 2, 1}});
    EXPECT_THAT(found(table, {4, 9}), ElementsAre(-1, -2));
    table.push({Ids{4, 4, 9, 4}, Floats{1, large, 2, -large}});
    // Velocity 0.5 * 1 + 0 and 0.5 * 2 + 2.
    EXPECT_THAT(found(table, {4, 9}), ElementsAre(-1.5, -5));
}

TEST(SparseTable, LargeBatchesAreManySmallOnes) {
    auto options = small(3);
    options.optimizer = Adam{};
    SparseTable whole(options), single(options);
    for (int step = 1; step <= 3; ++step) {
        Ids ids;
        Floats gradients;
        for (std::int64_t i = 0; i < 3000; ++i) {
            ids.push_back(i * i * 1000003 - 7 * step);
            for (int j = 0; j < 3; ++j) gradients.push_back(static_cast<float>((i * 7 + j * step) % 13) - 6);
        }
        EXPECT_EQ(pulled(whole, ids).size(), gradients.size());
        whole.push({ids, gradients}, {.step = step});
        for (std::size_t i = 0; i < ids.size(); ++i)
            single.push({std::span(ids).subspan(i, 1), std::span(gradients).subspan(3 * i, 3)},
                        {.step = step});
    }
    EXPECT_EQ(table_content(whole), table_content(single));
    EXPECT_EQ(whole.size(), whole.counts().inserted);
}

/// A batch cut into parts of so many ids.
struct CutBatch {
    std::vector<GradientBatch> parts;

    CutBatch(const GradientBatch& whole, std::size_t width, std::size_t ids) {
        for (std::size_t first = 0; first < whole.ids.size(); first += ids) {
            const auto count = std::min(ids, whole.ids.size() - first);
            const auto of = [&](std::span<const float> all) {
                return all.empty() ? all : all.subspan(first, count);
            };
            parts.push_back({whole.ids.subspan(first, count),
                             whole.gradients.subspan(first * width, count * width), of(whole.shows),
                             of(whole.clicks)});
        }
    }
};

TEST(SparseTable, ABatchInPartsIsThatBatch) {
    for (const bool repeats : {false, true})
        for (const bool rejects : {false, true})
            for (const std::size_t ids_of_part : {1, 7, 50, 100}) {
                auto options = small(2);
                options.optimizer = Momentum{};
                options.statistics.emplace();
                options.reject_not_finite = rejects;
                SparseTable whole(options), cut(options);
                for (int step = 1; step <= 4; ++step) {
                    Ids ids;
                    Floats gradients, shows, clicks;
                    for (int i = 0; i < 100; ++i) {
                        ids.push_back(repeats ? i * i % 23 : i * 31 + step);
                        gradients.insert(gradients.end(), {1 / static_cast<float>(i + step), 0.1F});
                        shows.push_back(0.3F * static_cast<float>(i));
                        clicks.push_back(0.1F * static_cast<float>(i));
                    }
                    if (rejects) gradients[2 * 60] = std::numeric_limits<float>::quiet_NaN();
                    const GradientBatch batch{ids, gradients, shows, clicks};
                    whole.push(batch, {.step = step});
                    cut.push(CutBatch(batch, 2, ids_of_part).parts, {.step = step}, !repeats);
                }
                EXPECT_EQ(table_content(cut), table_content(whole)) << repeats << rejects << ids_of_part;
                EXPECT_EQ(cut.counts().rejected, rejects ? 4U : 0U);
                EXPECT_EQ(cut.counts().rejected, whole.counts().rejected);
            }
}

TEST(SparseTable, SeveralThreadsLookForRepeatedIdsWhateverTheyAreTold) {
    TableTeam team(2);
    auto options = small(2);
    options.optimizer = Momentum{};
    SparseTable alone(options), together(options);
    together.work_with(&team);
    Ids ids(3 * TableTeam::min_batch);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i % 2500);
    const Floats gradients(2 * ids.size(), 0.3F);
    const GradientBatch batch{ids, gradients};
    alone.push(batch);
    together.push({&batch, 1}, {}, true);
    EXPECT_EQ(together.size(), 2500U);
    EXPECT_EQ(table_content(together), table_content(alone));
}

TEST(SparseTable, ABatchInPartsForWhichThereIsNoRoomChangesNothing) {
    auto options = small(2);
    options.dict_size = 10;
    SparseTable table(options);
    pulled(table, {1, 2, 3});
    const auto before = table_content(table);
    const Ids ids{1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};
    const Floats gradients(2 * ids.size(), 1);
    EXPECT_THROW(table.push(CutBatch({ids, gradients}, 2, 4).parts, {}), DictSizeError);
    EXPECT_EQ(table_content(table), before);
    auto odd = CutBatch({ids, gradients}, 2, 4);
    odd.parts[1].gradients = odd.parts[1].gradients.first(3);
    EXPECT_THROW(table.push(odd.parts, {}), UsageError);
    EXPECT_EQ(table_content(table), before);
}

TEST(SparseTable, PeekChangesNothing) {
    SparseTable table(small());
    pulled(table, {1});
    const auto before = table_content(table);
    found(table, {1, 2, 3});
    EXPECT_EQ(table_content(table), before);
}

TEST(SparseTable, RefusesWrongSizes) {
    SparseTable table(small());
    Floats three(3);
    EXPECT_EQ(message_of([&] {
                  table.pull(Ids{1, 2}, three);
              }),
              "table 'clicks': 3 floats came with 2 ids, expected 2 for each");
    EXPECT_NE(message_of([&] { table.find(Ids{1, 2}, three); }), "");
    EXPECT_NE(message_of([&] { table.push({Ids{1}, three}); }), "");
    EXPECT_EQ(message_of([&] {
                  table.push({Ids{1}, Floats{1, 1}, Floats{1}});
              }),
              "table 'clicks': 1 shows and 0 clicks came with 1 ids");
    EXPECT_EQ(message_of([&] {
                  table.push({Ids{1}, Floats{1, 1}}, {.step = 0});
              }),
              "table 'clicks': a push is for step 0; steps begin with 1");
    EXPECT_EQ(table.size(), 0U);
}

TEST(SparseTable, HasNoMoreIdsThanDictSize) {
    auto options = small();
    options.dict_size = 4;
    SparseTable table(options);
    pulled(table, {1, 2, 3});
    const auto before = table_content(table);
    Floats rows(10);
    try {
        table.pull(Ids{3, -8, -8, 1, 77}, rows);
        ADD_FAILURE() << "nothing was thrown";
    } catch (const DictSizeError& error) {
        EXPECT_EQ(error.id(), 77);
        EXPECT_EQ(error.dict_size(), 4U);
        EXPECT_EQ(error.table(), "clicks");
    }
    EXPECT_THROW(table.push({Ids{1, -8, 77}, Floats(6, 1.0F)}), DictSizeError);
    EXPECT_EQ(table_content(table), before);
    pulled(table, {3, -8, -8, 1});
    EXPECT_EQ(table.size(), 4U);
    table.push({Ids{1, 2, 3, -8}, Floats(8, 1.0F)});
    EXPECT_THROW(table.insert({.id = 5, .weights = Floats(2), .state = {}}), DictSizeError);
    EXPECT_TRUE(table.erase(2));
    pulled(table, {77});
    EXPECT_EQ(table.size(), 4U);
}

TEST(SparseTable, ABatchThatDictSizeRefusesCountsNoTouches) {
    auto options = small();
    options.dict_size = 1;
    options.admission = AdmitByCount{2, 64};
    SparseTable table(options);
    pulled(table, {1});
    const auto counters = table.touch_counters();
    const std::vector<std::uint8_t> before(counters.begin(), counters.end());
    // 1 comes for the second time and gets the only row; 9 comes twice in this batch.
    Floats rows(6);
    EXPECT_THROW(table.pull(Ids{1, 9, 9}, rows), DictSizeError);
    EXPECT_THAT(table.touch_counters(), testing::ElementsAreArray(before));
    EXPECT_EQ(table.size(), 0U);
}

TEST(SparseTable, AdmitsAnIdAtItsNthPull) {
    auto options = small();
    options.admission = AdmitByCount{3, 4096};
    SparseTable table(options);
    for (int pull = 1; pull <= 2; ++pull) {
        EXPECT_THAT(pulled(table, {5}), ElementsAre(0, 0));
        table.push({Ids{5}, Floats{1, 1}});
        EXPECT_EQ(table.size(), 0U);
    }
    EXPECT_EQ(table.counts().dropped, 2U);
    const auto first = pulled(table, {5});
    EXPECT_EQ(first, found(SparseTable(small()), {5}));
    EXPECT_EQ(table.size(), 1U);
    table.push({Ids{5}, Floats{1, 1}});
    EXPECT_THAT(found(table, {5, 6}), ElementsAre(first[0] - 1, first[1] - 1, 0, 0));
}

TEST(SparseTable, AdmitsTheSameIdsByProbabilityEverywhere) {
    auto options = small(1);
    options.admission = AdmitByProbability{0.25};
    SparseTable pulling(options), pushing(options);
    Ids ids(4000);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i) * 1001 - 2000000;
    for (int round = 0; round < 3; ++round) pulled(pulling, ids);
    std::ranges::reverse(ids);
    pushing.push({ids, Floats(ids.size(), 0.0F)});
    EXPECT_EQ(table_content(pulling), table_content(pushing));
    EXPECT_NEAR(static_cast<double>(pulling.size()), 1000, 5 * 27.4);
    EXPECT_EQ(pushing.counts().dropped, ids.size() - pushing.size());
    options.seed = 4;
    SparseTable other(options);
    pulled(other, ids);
    EXPECT_NE(table_content(other).begin()->first, table_content(pulling).begin()->first);
}

TEST(SparseTable, RejectsGradientsThatAreNotFinite) {
    constexpr auto nan = std::numeric_limits<float>::quiet_NaN();
    constexpr auto infinity = std::numeric_limits<float>::infinity();
    constexpr auto largest = std::numeric_limits<float>::max();
    auto options = small();
    options.initializer = ConstantRow{0};
    options.reject_not_finite = true;
    SparseTable table(options);
    table.push({Ids{1, 2, 3, 2, 4}, Floats{1, nan, 1, 1, -infinity, 0, 2, 2, largest, 1}});
    EXPECT_EQ(table.counts().rejected, 2U);
    EXPECT_THAT(table_content(table), ElementsAre(testing::Pair(2, ElementsAre(-3, -3, 0, 0, 0)),
                                                  testing::Pair(4, ElementsAre(-largest, -1, 0, 0, 0))));
    table.push({Ids{5, 5, 2}, Floats{largest, 0, largest, 0, 1, 1}});
    EXPECT_EQ(table.counts().rejected, 3U);
    EXPECT_THAT(found(table, {5, 2}), ElementsAre(0, 0, -4, -4));

    options.reject_not_finite = false;
    SparseTable trusting(options);
    trusting.push({Ids{1}, Floats{1, nan}});
    EXPECT_TRUE(std::isnan(found(trusting, {1})[1]));
}

TableOptions with_statistics() {
    auto options = small(1);
    options.statistics = RowStatistics{};
    return options;
}

TEST(SparseTable, CountsShowsAndClicks) {
    SparseTable table(with_statistics());
    table.set_day(5);
    table.push({Ids{1, 2, 1}, Floats{0, 0, 0}, Floats{1, 2, 4}, Floats{0, 1, 1}});
    table.set_day(6);
    pulled(table, {2});
    EXPECT_THAT(table_content(table).at(1), ElementsAre(testing::_, 5, 1, 5));
    EXPECT_THAT(table_content(table).at(2), ElementsAre(testing::_, 2, 1, 6));
}

TEST(SparseTable, ShrinkDecaysAndThenEvictsByScore) {
    SparseTable table(with_statistics());
    // Scores after the decay: 0.98 (0.1 (shows - clicks) + clicks).
    table.push({Ids{1, 2, 3}, Floats(3), Floats{8, 9, 1}, Floats{0, 0, 1}});
    EXPECT_EQ(table.shrink(), 1U);
    EXPECT_THAT(table_content(table), ElementsAre(testing::Key(2), testing::Key(3)));
    EXPECT_FLOAT_EQ(table_content(table).at(2)[1], 8.82F);
    EXPECT_FLOAT_EQ(table_content(table).at(3)[2], 0.98F);
    // 0.98^6 0.9 is 0.797, 0.98^12 is 0.785.
    for (int day = 2; day <= 5; ++day) EXPECT_EQ(table.shrink(), 0U) << day;
    EXPECT_EQ(table.shrink(), 1U);
    EXPECT_THAT(table_content(table), ElementsAre(testing::Key(3)));
    for (int day = 7; day <= 11; ++day) EXPECT_EQ(table.shrink(), 0U) << day;
    EXPECT_EQ(table.shrink(), 1U);
    EXPECT_EQ(table.counts().evicted, 3U);
}

TEST(SparseTable, ShrinkEvictsWhatWasNotUsedForTooLong) {
    auto options = with_statistics();
    options.statistics->least_score = 0;
    SparseTable table(options);
    pulled(table, {1, 2});
    table.set_day(30);
    EXPECT_EQ(table.shrink(), 0U);
    pulled(table, {2});
    table.set_day(31);
    EXPECT_EQ(table.shrink(), 1U);
    EXPECT_THAT(table_content(table), ElementsAre(testing::Key(2)));
}

TEST(SparseTable, EvictedRowsMakeRoomForNewOnes) {
    SparseTable table(with_statistics());
    Ids ids(20000);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i);
    pulled(table, ids);
    const auto bytes = table.bytes();
    for (int day = 1; day <= 5; ++day) {
        EXPECT_EQ(table.shrink(), ids.size());
        EXPECT_EQ(table.size(), 0U);
        for (auto& id : ids) id += 1000000;
        pulled(table, ids);
        EXPECT_LT(static_cast<double>(table.bytes()), 1.3 * static_cast<double>(bytes));
    }
    EXPECT_EQ(table_content(table).size(), ids.size());
}

TEST(SparseTable, ShrinkForgetsHalfOfTheTouches) {
    auto options = small();
    options.admission = AdmitByCount{3, 64};
    SparseTable table(options);
    pulled(table, {1, 1});
    table.shrink();
    pulled(table, {1});
    EXPECT_EQ(table.size(), 0U);
    pulled(table, {1});
    EXPECT_EQ(table.size(), 1U);
}

TEST(SparseTable, RowsThatWereSavedGoOnAsIfNothingHadBeen) {
    auto options = with_statistics();
    options.optimizer = Adam{};
    SparseTable original(options);
    const Ids ids{1, -1, min, max};
    const auto step = [&](SparseTable& table, int number) {
        table.set_day(static_cast<std::uint32_t>(number));
        table.push({ids, Floats{1, -2, 3, static_cast<float>(number)}, Floats(4, 1.0F), Floats(4, 0.5F)},
                   {.step = number});
    };
    for (int number = 1; number <= 3; ++number) step(original, number);
    SparseTable restored(options);
    restored.insert({.id = 1, .weights = Floats(1), .state = Floats(2)});  // to be replaced
    original.for_each([&](const TableRow& row) { restored.insert(row); });
    EXPECT_EQ(table_content(restored), table_content(original));
    for (auto* table : {&original, &restored}) step(*table, 4);
    EXPECT_EQ(table_content(restored), table_content(original));
    EXPECT_EQ(message_of([&] { restored.insert({.id = 1, .weights = Floats(2), .state = Floats(2)}); }),
              "table 'clicks': a row has 2 weights and 2 floats of state, expected 1 and 2");
}

}  // namespace
}  // namespace dtrain::ps
