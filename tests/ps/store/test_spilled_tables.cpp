// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: a table in memory that was told the same, and what it saves and exports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/store/export_table.hpp"
#include "ps/store/sample_table.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain::ps {
namespace {

using namespace tests;

/// Some 1300 of 4000 rows are in memory.
SpillOptions little(const TemporaryFolder& folder) {
    return {folder / "rows", 180'000};
}

void fill(SparseTable& table) {
    Floats row(3);
    for (int touch = 0; touch < 2; ++touch)
        for (std::uint64_t n = 0; n < 4000; ++n) {
            const auto id = sample_id(n);
            table.pull({&id, 1}, row);
        }
}

struct Twins {
    explicit Twins(const TemporaryFolder& folder, int changes, unsigned seed = 1)
        : spilled(sample_options(), little(folder)), plain(sample_options()) {
        for (auto* table : {&spilled, &plain}) {
            table->track_changes();
            fill(*table);
        }
        change(changes, seed);
    }

    void change(int times, unsigned seed) {
        for (auto* table : {&spilled, &plain}) {
            std::mt19937 dice(seed);
            tests::change(times, *table, dice);
        }
    }

    SparseTable spilled;
    SparseTable plain;
};

TEST(SpilledTables, SaveAndLoadAsThoseInMemory) {
    const TemporaryFolder folder;
    Twins twins(folder, 30);
    ASSERT_GT(twins.spilled.rows_on_disk(), 500U);
    const auto expected = whole(twins.plain);
    EXPECT_EQ(whole(twins.spilled), expected);
    const auto of_spilled = save(twins.spilled, folder / "spilled");
    const auto of_plain = save(twins.plain, folder / "plain");
    EXPECT_EQ(of_spilled.files[0].rows, of_plain.files[0].rows);
    for (const auto& saved : {of_spilled, of_plain}) {
        auto in_memory = load_table(sample_options(), {&saved, 1}, {});
        auto on_disk = load_table(sample_options(), {&saved, 1}, {}, little(folder));
        EXPECT_THAT(on_disk.warnings, testing::IsEmpty());
        EXPECT_GT(on_disk.table.rows_on_disk(), 500U);
        EXPECT_EQ(whole(in_memory.table), expected);
        EXPECT_EQ(whole(on_disk.table), expected);
        for (auto* table : {&in_memory.table, &on_disk.table}) {
            std::mt19937 dice(9);
            change(200, *table, dice);
        }
        EXPECT_EQ(whole(on_disk.table), whole(in_memory.table));
    }
}

TEST(SpilledTables, SaveWhileTrainingGoesOn) {
    const TemporaryFolder folder;
    for (unsigned seed = 0; seed < 4; ++seed) {
        Twins twins(folder, 0, seed);
        auto& table = twins.spilled;
        EXPECT_GT(table.rows_on_disk(), 500U);
        TableSaver saver(table, {}, std::nullopt, small_blocks);
        std::vector<SavedTable> chain;
        std::mt19937 dice(seed);
        for (int number = 0; number < 4; ++number) {
            const auto before = whole(table);
            const auto path = folder / (std::to_string(seed) + "-" + std::to_string(number));
            std::filesystem::create_directories(path);
            const auto which = number == 0 ? WhichRows::all : WhichRows::changed;
            saver.begin({path, "now", which, number});
            while (saver.step(dice() % 20'000) != TableSaver::Progress::taken)
                if (dice() % 3 == 0) twins.change(1, static_cast<unsigned>(dice()));
            chain.push_back({path, {saver.finish()}});
            saver.commit();
            EXPECT_LE(chain.back().files[0].rows, before.rows.size());
            EXPECT_EQ(whole(load_table(sample_options(), chain, {}, little(folder)).table), before);
            EXPECT_EQ(whole(load_table(sample_options(), chain, {}).table), before);
            twins.change(5, static_cast<unsigned>(dice()));
        }
        EXPECT_EQ(whole(table), whole(twins.plain));
        ASSERT_FALSE(HasFailure()) << seed;
    }
}

TEST(SpilledTables, ExportsAreThoseOfATableInMemory) {
    const TemporaryFolder folder;
    const Twins twins(folder, 30);
    ASSERT_GT(twins.spilled.rows_on_disk(), 500U);
    export_csv(twins.spilled, folder / "spilled.csv");
    export_csv(twins.plain, folder / "plain.csv");
    EXPECT_EQ(bytes_of(folder / "spilled.csv"), bytes_of(folder / "plain.csv"));
    export_hdf5(twins.spilled, folder / "spilled.h5");
    export_hdf5(twins.plain, folder / "plain.h5");
    EXPECT_EQ(bytes_of(folder / "spilled.h5"), bytes_of(folder / "plain.h5"));
}

TEST(SpilledTables, AreRefusedWithTheFolderBeforeAnythingIsRead) {
    const TemporaryFolder folder;
    write_bytes(folder / "rows", "a file");
    EXPECT_THAT(message_of([&] { load_table(sample_options(), {}, {}, little(folder)); }),
                testing::HasSubstr((folder / "rows").string() + ": Not a directory"));
}

}  // namespace
}  // namespace dtrain::ps
