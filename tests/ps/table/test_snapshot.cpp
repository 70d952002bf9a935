// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: copies of the whole table, made when a snapshot begins; the changes between two saves put on top of
// the first give the second.
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collected_rows.hpp"
#include "ps/table/sparse_table.hpp"
#include "support/message_of.hpp"

namespace dtrain::ps {
namespace {

using tests::Collected;
using tests::Floats;
using tests::Ids;
using tests::Rows;

Rows rows_of(SparseTable& table) {
    Collected all(table.row_bytes());
    const auto rows = table.begin_snapshot(WhichRows::all, all);
    while (table.go_on_with_snapshot(100)) continue;
    table.end_snapshot(false);
    EXPECT_EQ(rows, all.rows().size());
    EXPECT_EQ(rows, table.size());
    return all.rows();
}

TableOptions options(std::size_t arenas, Optimizer optimizer = Adagrad{}) {
    return {.name = "clicks",
            .width = 3,
            .seed = 5,
            .initializer = UniformRow{1},
            .optimizer = optimizer,
            .statistics = RowStatistics{},
            .arenas = arenas};
}

/// Something that a server is told to do.
void change(SparseTable& table, std::mt19937& dice) {
    Ids ids(1 + dice() % 40);
    for (auto& id : ids) id = static_cast<std::int64_t>(dice() % 3000) * 1000003 - 1500000000;
    Floats rows(3 * ids.size());
    for (auto& value : rows) value = static_cast<float>(dice() % 100) / 10 - 5;
    switch (dice() % 12) {
        case 0:
            for (const auto id : ids) table.erase(id);
            break;
        case 1:
            table.insert({.id = ids[0], .weights = Floats(3, 2.0F), .state = Floats(3, 3.0F), .shows = 7});
            break;
        case 2:
            if (dice() % 40 == 0) table.shrink();
            table.set_day(table.day() + dice() % 3);
            break;
        case 3:
        case 4:
        case 5:
            table.pull(ids, rows);
            break;
        default:
            table.push({ids, rows, Floats(ids.size(), 3.0F), Floats(ids.size(), 1.0F)});
    }
}

void fill(SparseTable& table, std::mt19937& dice) {
    for (int i = 0; i < 300; ++i) change(table, dice);
}

TEST(Snapshot, HasTheRowsOfTheMomentWhenItBegan) {
    for (unsigned seed = 0; seed < 20; ++seed) {
        std::mt19937 dice(seed);
        SparseTable table(options(1 + seed % 3));
        fill(table, dice);
        const auto before = rows_of(table);
        Collected taken(table.row_bytes());
        EXPECT_EQ(table.begin_snapshot(WhichRows::all, taken), before.size());
        bool goes_on = true;
        while (goes_on) {
            for (auto changes = dice() % 4; changes > 0; --changes) change(table, dice);
            goes_on = table.go_on_with_snapshot(dice() % 60);
        }
        for (int i = 0; i < 50; ++i) change(table, dice);
        table.end_snapshot(true);
        EXPECT_EQ(taken.rows(), before) << seed;
        EXPECT_NE(rows_of(table), before);
    }
}

TEST(Snapshot, ChangedRowsOnTopOfTheLastSaveAreTheTable) {
    for (unsigned seed = 0; seed < 20; ++seed) {
        std::mt19937 dice(seed);
        SparseTable table(options(1 + seed % 3));
        table.track_changes();
        fill(table, dice);
        Rows saved;
        for (int save = 0; save < 8; ++save) {
            // Only few rows, or the changes would be all rows.
            for (auto changes = dice() % 20; changes > 0; --changes) change(table, dice);
            Collected now(table.row_bytes());
            const auto expected = [&] {
                SparseTable copy(options(1));
                table.for_each([&](const TableRow& row) { copy.insert(row); });
                return rows_of(copy);
            }();
            table.begin_snapshot(save == 0 ? WhichRows::all : WhichRows::changed, now);
            const std::vector<std::int64_t> erased(table.changes().erased().begin(),
                                                   table.changes().erased().end());
            while (table.go_on_with_snapshot(dice() % 90)) change(table, dice);
            // Every third is lost: what it took is taken again by the next one.
            const bool is_saved = save == 0 || dice() % 3 != 0;
            table.end_snapshot(is_saved);
            if (!is_saved) continue;
            for (const auto id : erased) saved.erase(id);
            for (const auto& [id, row] : now.rows()) saved[id] = row;
            if (save == 0) saved = now.rows();
            EXPECT_EQ(saved, expected) << "seed " << seed << ", save " << save;
        }
    }
}

TEST(Snapshot, TakesOnlyWhatChanged) {
    SparseTable table(options(1));
    table.track_changes();
    Floats rows(9);
    table.pull(Ids{1, 2, 3}, rows);
    Collected all(table.row_bytes());
    EXPECT_EQ(table.begin_snapshot(WhichRows::all, all), 3U);
    table.go_on_with_snapshot(3);
    table.end_snapshot(true);

    table.pull(Ids{1, 2, 3}, rows);  // on the same day
    table.find(Ids{1, 2, 9}, rows);
    table.push({Ids{3}, Floats(3)});
    table.pull(Ids{5}, std::span(rows).first(3));
    table.erase(1);
    table.erase(7);
    Collected changed(table.row_bytes());
    EXPECT_EQ(table.begin_snapshot(WhichRows::changed, changed), 2U);
    EXPECT_THAT(table.changes().erased(), testing::ElementsAre(1));
    table.go_on_with_snapshot(2);
    table.end_snapshot(true);
    EXPECT_THAT(changed.rows(), testing::ElementsAre(testing::Key(3), testing::Key(5)));
    EXPECT_EQ(table.begin_snapshot(WhichRows::changed, changed), 0U);
}

TEST(Snapshot, RefusesASecondOneAndChangesOfNothing) {
    SparseTable table(options(1));
    Collected rows(table.row_bytes());
    table.track_changes();
    EXPECT_NE(tests::message_of<Error>([&] { table.begin_snapshot(WhichRows::changed, rows); }), "");
    table.begin_snapshot(WhichRows::all, rows);
    EXPECT_NE(tests::message_of<Error>([&] { table.begin_snapshot(WhichRows::all, rows); }), "");
    table.end_snapshot(false);
    EXPECT_NE(tests::message_of<Error>([&] { table.begin_snapshot(WhichRows::changed, rows); }), "");
    table.forget_changes();  // as after loading
    EXPECT_EQ(table.begin_snapshot(WhichRows::changed, rows), 0U);
}

TEST(Snapshot, CostsABitARowToKnowWhatChanged) {
    SparseTable table(options(1)), tracked(options(1));
    tracked.track_changes();
    Ids ids(300000);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i);
    Floats rows(3 * ids.size());
    for (auto* each : {&table, &tracked}) each->pull(ids, rows);
    EXPECT_LE(static_cast<double>(tracked.bytes() - table.bytes()) / 300000, 0.15);
    EXPECT_GE(static_cast<double>(tracked.bytes() - table.bytes()) / 300000, 0.125);
}

TEST(SparseTable, InsertsManyRowsAsOneByOne) {
    std::mt19937 dice(1);
    SparseTable original(options(2)), at_once(options(1));
    for (int i = 0; i < 20; ++i) fill(original, dice);
    std::vector<std::byte> bytes;
    for (const auto& [id, row] : rows_of(original)) {
        const auto* begin = reinterpret_cast<const std::byte*>(row.data());
        bytes.insert(bytes.end(), begin, begin + row.size());
    }
    for (int i = 0; i < 2; ++i) {  // the second time all are there already
        at_once.insert_rows(bytes);
        EXPECT_EQ(rows_of(at_once), rows_of(original));
    }
    EXPECT_NE(tests::message_of([&] { at_once.insert_rows(std::span(bytes).first(7)); }), "");

    auto few = options(1);
    few.dict_size = original.size() - 1;
    SparseTable small(few);
    EXPECT_THROW(small.insert_rows(bytes), DictSizeError);
    EXPECT_EQ(small.size(), 0U);
    EXPECT_THROW(small.load(original.size(), [&](BulkLoad& bulk) { bulk.add(bytes); }), DictSizeError);
}

TEST(SparseTable, LoadsRowsByTwoThreadsAsOneByOne) {
    for (const std::size_t arenas : {1, 3}) {
        SparseTable original(options(1));
        Ids ids(200000);
        for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i * i * 1000003) - 9;
        Floats rows(3 * ids.size());
        original.pull(ids, rows);
        std::vector<std::byte> bytes;
        for (const auto& [id, row] : rows_of(original)) {
            const auto* begin = reinterpret_cast<const std::byte*>(row.data());
            bytes.insert(bytes.end(), begin, begin + row.size());
        }
        const auto part = original.row_bytes() * 777;
        const auto load = [&](SparseTable& table, std::size_t expected) {
            table.load(expected, [&](BulkLoad& bulk) {
                const auto add = [&](std::size_t thread) {
                    for (auto at = thread * part; at < bytes.size(); at += 2 * part)
                        bulk.add(std::span(bytes).subspan(at, std::min(part, bytes.size() - at)));
                };
                const std::jthread other([&] { add(1); });
                add(0);
            });
        };
        // Fewer were expected: as many sets and arenas as there is need for come meanwhile.
        for (const std::size_t expected : {std::size_t{0}, original.size() / 3}) {
            SparseTable surprised(options(arenas));
            load(surprised, expected);
            EXPECT_EQ(rows_of(surprised), rows_of(original));
        }
        SparseTable loaded(options(arenas));
        load(loaded, original.size());
        EXPECT_EQ(rows_of(loaded), rows_of(original));
        EXPECT_NEAR(static_cast<double>(loaded.bytes()) / static_cast<double>(original.bytes()), 1, 0.02);
        // It goes on as any table does.
        for (auto* table : {&original, &loaded}) {
            std::mt19937 dice(1);
            fill(*table, dice);
            table->pull(ids, rows);
        }
        EXPECT_EQ(rows_of(loaded), rows_of(original));

        SparseTable twice(options(arenas));
        EXPECT_NE(tests::message_of<Error>([&] {
                      twice.load(original.size(), [&](BulkLoad& bulk) {
                          bulk.add(std::span(bytes).first(part));
                          bulk.add(std::span(bytes).first(original.row_bytes()));
                      });
                  }),
                  "");
    }
}

}  // namespace
}  // namespace dtrain::ps
