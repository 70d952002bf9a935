// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the table that was saved, and what both it and the loaded one are after the same later changes.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/store/sample_table.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain::ps {
namespace {

using namespace tests;
using testing::ElementsAre;
using testing::HasSubstr;

/// Both go on alike.
void expect_same_future(SparseTable& a, SparseTable& b, const ServerShard& shard = {}) {
    EXPECT_EQ(whole(a), whole(b));
    for (int i = 0; i < 100; ++i) {
        std::mt19937 one(static_cast<unsigned>(i)), two(static_cast<unsigned>(i));
        change(a, one, shard);
        change(b, two, shard);
    }
    EXPECT_EQ(whole(a), whole(b));
}

SparseTable filled(unsigned seed, TableOptions options = sample_options(), const ServerShard& shard = {}) {
    SparseTable table(std::move(options));
    std::mt19937 dice(seed);
    change(300, table, dice, shard);
    return table;
}

TEST(SaveAndLoad, BringBackTheTableForAnyOptimizer) {
    const TemporaryFolder folder;
    int number = 0;
    for (const Optimizer& optimizer :
         {Optimizer(Sgd{}), Optimizer(Momentum{}), Optimizer(Momentum{.nesterov = true}),
          Optimizer(Adagrad{}), Optimizer(Adam{}), Optimizer(AdamW{}),
          Optimizer(AdamW{.without_decay = {"clicks/user"}}), Optimizer(Ftrl{})})
        for (const bool has_statistics : {false, true}) {
            auto options = sample_options();
            options.optimizer = optimizer;
            if (!has_statistics) options.statistics.reset();
            options.admission = AdmitAll{};
            auto table = filled(1, options);
            ASSERT_GT(table.size(), 1000U);
            const auto saved = save(table, folder / std::to_string(number++));
            auto loaded = load_table(options, {&saved, 1}, {});
            EXPECT_EQ(loaded.step, 7);
            EXPECT_THAT(loaded.warnings, testing::IsEmpty());
            expect_same_future(loaded.table, table);
        }
}

TEST(SaveAndLoad, BringBackWhoWaitsForAdmission) {
    const TemporaryFolder folder;
    auto table = filled(2);
    EXPECT_THAT(table.touch_counters(), testing::Contains(testing::Gt(0)));
    const auto saved = save(table, folder / "one");
    auto loaded = load(saved);
    expect_same_future(loaded.table, table);
}

TEST(SaveAndLoad, KeepEveryBitOfAFloat) {
    const TemporaryFolder folder;
    SparseTable table(sample_options());
    Floats strange{-0.0F, std::numeric_limits<float>::signaling_NaN(),
                   std::numeric_limits<float>::denorm_min()};
    table.insert({.id = -1, .weights = strange, .state = Floats(6, -std::numeric_limits<float>::infinity())});
    const auto saved = save(table, folder / "one");
    EXPECT_EQ(content(load(saved).table), content(table));
}

TEST(SaveAndLoad, AnEmptyTableIsATable) {
    const TemporaryFolder folder;
    SparseTable table(sample_options());
    table.set_day(3);
    const auto saved = save(table, folder / "one");
    EXPECT_EQ(whole(load(saved).table), whole(table));
}

TEST(SaveAndLoad, RowsLargerThanABlockAndALastBlockThatIsFull) {
    const TemporaryFolder folder;
    auto options = sample_options();
    options.admission = AdmitAll{};
    options.width = 4000;
    auto wide = filled(3, options);
    const auto saved = save(wide, folder / "wide");
    EXPECT_EQ(whole(load_table(options, {&saved, 1}, {}).table), whole(wide));

    options.width = 1;
    options.optimizer = Sgd{};
    options.statistics.reset();  // 12 bytes a row, 341 in a block
    SparseTable full(options);
    Floats rows(682);
    Ids ids(682);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i);
    full.pull(ids, rows);
    const auto of_full = save(full, folder / "full");
    EXPECT_EQ(of_full.files[0].bytes, 3 * 4096);
    EXPECT_EQ(whole(load_table(options, {&of_full, 1}, {}).table), whole(full));
}

/// The tables of several servers, saved together.
SavedTable save_all(std::vector<SparseTable>& tables, const std::filesystem::path& folder) {
    SavedTable all{folder, {}};
    for (std::uint32_t server = 0; server < tables.size(); ++server)
        all.files.push_back(
            save(tables[server], folder, {server, static_cast<std::uint32_t>(tables.size())}).files[0]);
    std::ranges::reverse(all.files);  // in any order
    return all;
}

std::vector<SparseTable> load_all(const SavedTable& saved, std::uint32_t servers,
                                  const TableOptions& options) {
    std::vector<SparseTable> tables;
    for (std::uint32_t server = 0; server < servers; ++server)
        tables.push_back(load_table(options, {&saved, 1}, {server, servers}).table);
    return tables;
}

Content together(const std::vector<SparseTable>& tables) {
    Content all;
    std::uint32_t server = 0;
    for (const auto& table : tables) {
        for (const auto& [id, row] : content(table)) {
            EXPECT_EQ(server_of(id, static_cast<std::uint32_t>(tables.size())), server);
            all[id] = row;
        }
        ++server;
    }
    return all;
}

TEST(SaveAndLoad, OntoAnyNumberOfServers) {
    const TemporaryFolder folder;
    auto options = sample_options();
    options.admission = AdmitAll{};
    std::vector<SparseTable> tables;
    for (std::uint32_t server = 0; server < 2; ++server) tables.push_back(filled(4, options, {server, 2}));
    const auto before = together(tables);
    ASSERT_GT(before.size(), 1500U);
    TableCounts inserted;
    for (const auto& table : tables) inserted.inserted += table.counts().inserted;
    int number = 0;
    for (const std::uint32_t servers : {3U, 1U, 7U, 7U, 2U, 5U, 1U}) {
        const auto saved = save_all(tables, folder / std::to_string(number++));
        tables = load_all(saved, servers, options);
        EXPECT_EQ(together(tables), before) << servers;
        TableCounts sum;
        for (const auto& table : tables) sum.inserted += table.counts().inserted;
        EXPECT_EQ(sum.inserted, inserted.inserted);
    }
    // As if there had been one server from the beginning.
    SparseTable one(options);
    for (std::uint32_t server = 0; server < 2; ++server) {
        const auto part = filled(4, options, {server, 2});
        part.for_each([&](const TableRow& row) { one.insert(row); });
        one.set_day(part.day());
        one.set_counts(tables[0].counts());
    }
    tables[0].set_day(one.day());
    expect_same_future(tables[0], one);
}

TEST(SaveAndLoad, NoIdIsTouchedLessOftenAfterAChangeOfServers) {
    const TemporaryFolder folder;
    std::vector<SparseTable> tables;
    auto options = sample_options();
    options.admission = AdmitByCount{3, 4096};
    Ids ids(200);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = sample_id(i);
    const auto pull = [&](std::vector<SparseTable>& all) {
        Floats row(3);
        for (const auto id : ids)
            all[server_of(id, static_cast<std::uint32_t>(all.size()))].pull({&id, 1}, row);
    };
    for (int i = 0; i < 3; ++i) tables.emplace_back(options);
    pull(tables);
    pull(tables);
    const auto saved = save_all(tables, folder / "three");
    auto two = load_all(saved, 2, options);
    pull(two);
    EXPECT_EQ(together(two).size(), ids.size());
    auto three = load_all(saved, 3, options);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(whole(three[i]), whole(tables[i]));
}

TEST(SaveAndLoad, ChangesOnTopOfASaveAreTheTable) {
    const TemporaryFolder folder;
    for (unsigned seed = 0; seed < 6; ++seed) {
        std::mt19937 dice(seed);
        SparseTable table(sample_options());
        table.track_changes();
        change(300, table, dice);
        std::vector<SavedTable> chain;
        TableSaver saver(table, {}, std::nullopt, small_blocks);
        EXPECT_FALSE(saver.knows_changes());
        for (int number = 0; number < 5; ++number) {
            const auto which = number == 0 ? WhichRows::all : WhichRows::changed;
            const auto name = std::to_string(seed) + "-" + std::to_string(number);
            chain.push_back(save(saver, folder / name, which));
            EXPECT_EQ(whole(load_table(sample_options(), chain, {}).table), whole(table)) << name;
            Content parts;
            for (std::uint32_t server = 0; server < 3; ++server)
                parts.merge(content(load_table(sample_options(), chain, {server, 3}).table));
            EXPECT_EQ(parts, content(table));
            change(15, table, dice);
        }
        EXPECT_LT(chain.back().files[0].rows, table.size());
        auto loaded = load_table(sample_options(), chain, {});

        // It goes on from there: its next changes are changes of the same chain.
        change(20, loaded.table, dice);
        TableSaver next(loaded.table, {}, loaded.saved, small_blocks);
        EXPECT_TRUE(next.knows_changes());
        chain.push_back(save(next, folder / (std::to_string(seed) + "-next"), WhichRows::changed));
        EXPECT_EQ(whole(load_table(sample_options(), chain, {}).table), whole(loaded.table));
    }
}

TEST(SaveAndLoad, ASaveThatWasLostIsPartOfTheNext) {
    const TemporaryFolder folder;
    std::mt19937 dice(1);
    SparseTable table(sample_options());
    table.track_changes();
    change(200, table, dice);
    TableSaver saver(table, {}, std::nullopt, small_blocks);
    std::vector<SavedTable> chain{save(saver, folder / "all")};
    change(20, table, dice);
    saver.begin({folder / "all" / "..", "lost", WhichRows::changed, 8});
    change(20, table, dice);
    saver.finish();
    saver.abandon();
    EXPECT_THROW(saver.begin({folder / "no such folder", "lost", WhichRows::changed, 8}), Error);
    EXPECT_FALSE(saver.is_in_progress());
    change(20, table, dice);
    chain.push_back(save(saver, folder / "kept", WhichRows::changed));
    EXPECT_EQ(whole(load_table(sample_options(), chain, {}).table), whole(table));
}

TEST(SaveAndLoad, AChainThatIsNoneIsRefused) {
    const TemporaryFolder folder;
    std::mt19937 dice(1);
    SparseTable table(sample_options());
    table.track_changes();
    TableSaver saver(table, {}, std::nullopt, small_blocks);
    std::vector<SavedTable> all;
    for (const char* name : {"a", "b", "c"}) {
        change(50, table, dice);
        all.push_back(save(saver, folder / name, all.empty() ? WhichRows::all : WhichRows::changed));
    }
    const auto refusal = [&](std::vector<SavedTable> chain) {
        return message_of([&] { load_table(sample_options(), chain, {}); });
    };
    EXPECT_EQ(refusal(all), "");
    EXPECT_THAT(refusal({all[1]}), HasSubstr("b/clicks%2Fuser-0000-of-0001.rows: it has only what changed"));
    EXPECT_THAT(refusal({all[0], all[0]}), HasSubstr("it has all rows, and is no change of another save"));
    EXPECT_THAT(refusal({all[0], all[2]}), HasSubstr("it has what changed since another save than"));
    EXPECT_THAT(refusal({}), HasSubstr("there is no checkpoint to load"));
    EXPECT_THAT(refusal({{folder / "a", {}}}), HasSubstr("has no file of table 'clicks/user'"));
    auto twice = all[0];
    twice.files.push_back(twice.files[0]);
    EXPECT_THAT(refusal({twice}), HasSubstr("does not have one file of each of 1 servers"));
    auto other = all[0];
    other.files[0].sum = "0123456789abcdef";
    EXPECT_THAT(refusal({other}), HasSubstr("it is not the file that the checkpoint names"));
}

TEST(SaveAndLoad, AnotherTableIsRefusedByBothLayouts) {
    const TemporaryFolder folder;
    auto table = filled(1);
    const auto saved = save(table, folder / "one");
    const auto refusal = [&](const auto& alter) {
        auto options = sample_options();
        alter(options);
        return message_of([&] { load_table(options, {&saved, 1}, {}); });
    };
    EXPECT_EQ(
        refusal([](auto& options) { options.width = 4; }),
        (folder / "one/clicks%2Fuser-0000-of-0001.rows").string() +
            " has rows of table 'clicks/user' (width 3, adam, with statistics), which do not fit into "
            "table 'clicks/user' (width 4, adam, with statistics) of this job: change the job, or begin "
            "without this checkpoint");
    EXPECT_THAT(refusal([](auto& options) { options.name = "other"; }), HasSubstr("into table 'other'"));
    EXPECT_THAT(refusal([](auto& options) { options.optimizer = Ftrl{}; }),
                HasSubstr("(width 3, ftrl, with"));
    EXPECT_THAT(refusal([](auto& options) { options.statistics.reset(); }),
                HasSubstr("adam, no statistics)"));
}

TEST(SaveAndLoad, TellsWhichOptionsAreNotThoseOfThen) {
    const TemporaryFolder folder;
    auto table = filled(1);
    const auto saved = save(table, folder / "one");
    auto options = sample_options();
    options.seed = 6;
    options.optimizer = Adam{.learning_rate = 0.5};
    options.admission = AdmitAll{};
    const auto loaded = load_table(options, {&saved, 1}, {});
    EXPECT_EQ(content(loaded.table), content(table));
    EXPECT_THAT(
        loaded.warnings,
        ElementsAre(
            R"(admission: {"count":2,"counters":4096,"kind":"count"} then, null now)",
            R"(optimizer: {"beta1":0.9,"beta2":0.999,"epsilon":1e-08,"kind":"adam","learning_rate":0.001} then, )"
            R"({"beta1":0.9,"beta2":0.999,"epsilon":1e-08,"kind":"adam","learning_rate":0.5} now)",
            "seed: 5 then, 6 now"));
}

/// It is of all servers together, which one of them cannot know.
TEST(SaveAndLoad, MoreRowsThanDictSizeAreLoadedAndNoneAreBorn) {
    const TemporaryFolder folder;
    auto table = filled(1);
    const auto saved = save(table, folder / "one");
    auto options = sample_options();
    options.admission = AdmitAll{};
    options.dict_size = table.size() - 1;
    auto loaded = load_table(options, {&saved, 1}, {});
    EXPECT_EQ(content(loaded.table), content(table));
    EXPECT_EQ(loaded.table.options().dict_size, options.dict_size);
    std::vector<float> row(loaded.table.width());
    EXPECT_THROW(loaded.table.pull(std::vector<std::int64_t>{123456789}, row), DictSizeError);
}

/// What was inserted comes before what was erased, and it fits.
TEST(SaveAndLoad, ATableThatWasFullAllTheTimeCanBeLoaded) {
    const TemporaryFolder folder;
    auto options = sample_options();
    options.admission = AdmitAll{};
    options.dict_size = 50;
    SparseTable table(options);
    table.track_changes();
    TableSaver saver(table, {}, std::nullopt, small_blocks);
    std::vector<float> row(table.width());
    const auto pull = [&](std::uint64_t n) { table.pull(std::vector<std::int64_t>{sample_id(n)}, row); };
    for (std::uint64_t n = 0; n < 50; ++n) pull(n);
    std::vector<SavedTable> chain{save(saver, folder / "all")};
    for (std::uint64_t n = 0; n < 20; ++n) {
        table.erase(sample_id(n));
        pull(100 + n);
    }
    chain.push_back(save(saver, folder / "changes", WhichRows::changed));
    EXPECT_EQ(whole(load_table(options, chain, {}).table), whole(table));
}

TEST(SaveAndLoad, AnIdInTheWrongFileIsRefused) {
    const TemporaryFolder folder;
    auto options = sample_options();
    options.admission = AdmitAll{};
    auto table = filled(1, options);  // with the ids of all servers
    SavedTable saved{folder / "one", {}};
    for (const std::uint32_t server : {0U, 1U})
        saved.files.push_back(save(table, folder / "one", {server, 2}).files[0]);
    EXPECT_THAT(message_of([&] {
                    load_table(options, {&saved, 1}, {0, 1});
                }),
                HasSubstr("is not one of server 0 of 2"));
}

/// The property of a snapshot: what is saved is the table at the moment of begin(), whatever happens
/// meanwhile.
TEST(SaveWhileTrainingGoesOn, IsTheTableOfTheMomentWhenItBegan) {
    const TemporaryFolder folder;
    for (unsigned seed = 0; seed < 25; ++seed) {
        std::mt19937 dice(seed);
        SparseTable table(sample_options());
        table.track_changes();
        change(300, table, dice);
        // Blocks of which few may wait, or many.
        TableSaver saver(table, {}, std::nullopt,
                         {.block_bytes = 4096, .blocks = 1 + seed % 3, .max_blocks = 1 + seed % 7});
        std::vector<SavedTable> chain;
        for (int number = 0; number < 3; ++number) {
            const auto before = whole(table);
            const auto path = folder / (std::to_string(seed) + "-" + std::to_string(number));
            std::filesystem::create_directories(path);
            saver.begin({path, "now", number == 0 ? WhichRows::all : WhichRows::changed, number});
            while (saver.step(dice() % 3000) != TableSaver::Progress::taken)
                if (dice() % 3 == 0) change(table, dice);
            change(30, table, dice);
            chain.push_back({path, {saver.finish()}});
            change(30, table, dice);
            saver.commit();
            EXPECT_EQ(whole(load_table(sample_options(), chain, {}).table), before) << seed << " " << number;
        }
        ASSERT_FALSE(HasFailure());
    }
}

TEST(SaveWhileTrainingGoesOn, CanBeLeftAtAnyTime) {
    const TemporaryFolder folder;
    auto table = filled(1);
    for (int steps = 0; steps < 12; ++steps) {
        TableSaver saver(table, {}, std::nullopt, small_blocks);
        EXPECT_FALSE(saver.is_written());
        saver.begin({folder.path(), "now", WhichRows::all, 1});
        EXPECT_TRUE(saver.is_in_progress());
        TableSaver second(table, {});
        EXPECT_THROW(second.begin({folder.path(), "now", WhichRows::all, 1}), Error);
        EXPECT_THROW(saver.commit(), Error);
        for (int i = 0; i < steps; ++i) saver.step(4096);
    }
    EXPECT_FALSE(table.changes().is_in_progress());
}

TEST(SaveWhileTrainingGoesOn, TellsWhenTheFileCannotBeWritten) {
    const TemporaryFolder folder;
    auto table = filled(1);
    TableSaver saver(table, {}, std::nullopt, small_blocks);
    std::filesystem::create_directory(folder / "gone");
    saver.begin({folder / "gone", "now", WhichRows::all, 1});
    std::filesystem::remove_all(folder / "gone");
    EXPECT_THAT(message_of<Error>([&] { saver.finish(); }),
                HasSubstr("cannot write " + (folder / "gone").string()));
    EXPECT_FALSE(saver.is_in_progress());
    const auto saved = save(table, folder / "there");
    EXPECT_EQ(whole(load(saved).table), whole(table));
}

TEST(SaveWhileTrainingGoesOn, TheSameTableMakesTheSameBytes) {
    const TemporaryFolder folder;
    auto table = filled(1);
    const auto one = save(table, folder / "a" / "x");
    const auto two = save(table, folder / "b" / "x");
    EXPECT_EQ(one.files, two.files);
    EXPECT_TRUE(bytes_of(one.folder / one.files[0].file) == bytes_of(two.folder / two.files[0].file));
}

}  // namespace
}  // namespace dtrain::ps
