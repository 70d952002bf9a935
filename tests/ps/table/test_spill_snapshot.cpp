// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: a table without a limit of memory that is told the same; the changes between two saves put on top
// of the first give the second.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spilled_table.hpp"
#include "support/message_of.hpp"

namespace dtrain::ps {
namespace {

using tests::Collected;
using tests::content;
using tests::Floats;
using tests::id_of;
using tests::Ids;
using tests::Rows;
using tests::spilled_options;
using tests::Twins;

TEST(SpillSnapshot, HasTheRowsOfTheMomentWhenItBegan) {
    for (unsigned seed = 0; seed < 6; ++seed) {
        std::mt19937 dice(seed);
        Twins twins(spilled_options(Adagrad{}, 1 + seed % 3));
        twins.change(150, dice);
        const auto before = content(twins.plain);
        auto& table = twins.spilled;
        EXPECT_GT(table.rows_on_disk(), before.size() / 4);
        Collected taken(table.row_bytes());
        EXPECT_EQ(table.begin_snapshot(WhichRows::all, taken), before.size());
        bool goes_on = true;
        while (goes_on) {
            twins.change(static_cast<int>(dice() % 5), dice);
            goes_on = table.go_on_with_snapshot(dice() % 200);
        }
        twins.change(20, dice);
        table.end_snapshot(true);
        EXPECT_EQ(taken.rows(), before) << seed;
        twins.expect_alike();
        EXPECT_NE(content(table), before);
    }
}

/// What the plain twin says is changed must be what the other says; each is a save of its own chain.
TEST(SpillSnapshot, ChangedRowsAreThoseOfATableWithoutALimit) {
    for (unsigned seed = 0; seed < 8; ++seed) {
        std::mt19937 dice(seed);
        Twins twins(spilled_options(Adagrad{}, 1 + seed % 3));
        for (auto* table : {&twins.spilled, &twins.plain}) table->track_changes();
        twins.change(150, dice);
        Rows saved;
        for (int save = 0; save < 10; ++save) {
            twins.change(static_cast<int>(dice() % 25), dice);
            const auto expected = content(twins.plain);
            const auto which = save == 0 ? WhichRows::all : WhichRows::changed;
            Collected now(twins.spilled.row_bytes()), of_plain(twins.plain.row_bytes());
            const auto rows = twins.spilled.begin_snapshot(which, now);
            EXPECT_EQ(twins.plain.begin_snapshot(which, of_plain), rows);
            const Ids erased(twins.spilled.changes().erased().begin(),
                             twins.spilled.changes().erased().end());
            for (bool goes_on = true; goes_on;) {
                goes_on = twins.spilled.go_on_with_snapshot(dice() % 90);
                twins.plain.go_on_with_snapshot(dice() % 90);
                twins.change(static_cast<int>(dice() % 2), dice);
            }
            while (twins.plain.go_on_with_snapshot(100)) continue;
            // Every third is lost: what it took is taken again by the next one.
            const bool is_saved = save == 0 || dice() % 3 != 0;
            for (auto* table : {&twins.spilled, &twins.plain}) table->end_snapshot(is_saved);
            EXPECT_EQ(now.rows(), of_plain.rows()) << "seed " << seed << ", save " << save;
            EXPECT_EQ(now.rows().size(), rows);
            if (!is_saved) continue;
            for (const auto id : erased) saved.erase(id);
            for (const auto& [id, row] : now.rows()) saved[id] = row;
            if (save == 0) saved = now.rows();
            EXPECT_EQ(saved, expected) << "seed " << seed << ", save " << save;
        }
        twins.expect_alike();
        ASSERT_FALSE(HasFailure());
    }
}

TEST(SpillSnapshot, TakesOnlyWhatChangedWhereverItIs) {
    auto options = spilled_options(Sgd{});
    options.statistics.reset();
    Twins twins(options);
    auto& table = twins.spilled;
    table.track_changes();
    Floats rows(40'000);
    Ids ids(10'000);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = id_of(i);
    const auto pull_all = [&] {
        for (std::size_t at = 0; at < ids.size(); at += 500)
            table.pull(std::span(ids).subspan(at, 500), std::span(rows).first(2000));
    };
    pull_all();
    table.forget_changes();  // as after loading
    table.push({Ids{id_of(7)}, Floats(4, 1)});
    pull_all();  // it has gone to disk, and others came back that had not changed
    pull_all();
    table.erase(id_of(8));
    EXPECT_GT(table.rows_on_disk(), 5000U);
    Collected changed(table.row_bytes());
    EXPECT_EQ(table.begin_snapshot(WhichRows::changed, changed), 1U);
    EXPECT_THAT(table.changes().erased(), testing::ElementsAre(id_of(8)));
    while (table.go_on_with_snapshot(1)) continue;
    table.end_snapshot(true);
    EXPECT_THAT(changed.rows(), testing::ElementsAre(testing::Key(id_of(7))));
    EXPECT_EQ(table.begin_snapshot(WhichRows::changed, changed), 0U);
}

}  // namespace
}  // namespace dtrain::ps
