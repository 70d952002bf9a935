// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: a table without a limit of memory that is told the same has the same rows, bit by bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spilled_table.hpp"
#include "support/message_of.hpp"
#include "support/small_files.hpp"

namespace dtrain::ps {
namespace {

using testing::HasSubstr;
using tests::content;
using tests::Floats;
using tests::id_of;
using tests::Ids;
using tests::little_memory;
using tests::message_of;
using tests::spilled_options;
using tests::Twins;

const std::vector<Optimizer> optimizers{Sgd{0.5}, Momentum{}, Adagrad{}, Adam{}, AdamW{}, Ftrl{}};

Ids many_ids(std::uint64_t count) {
    Ids ids;
    for (std::uint64_t n = 0; n < count; ++n) ids.push_back(id_of(n));
    return ids;
}

/// Pulls so many ids, in batches.
void pull(SparseTable& table, std::uint64_t count) {
    const auto ids = many_ids(count);
    constexpr std::size_t batch = 500;
    Floats rows(batch * table.width());
    for (std::size_t at = 0; at < ids.size(); at += batch) {
        const auto part = std::span(ids).subspan(at, std::min(batch, ids.size() - at));
        table.pull(part, std::span(rows).first(part.size() * table.width()));
    }
}

std::vector<std::byte> bytes_of(const SparseTable& table) {
    std::vector<std::byte> bytes;
    for (const auto& [id, row] : content(table)) {
        const auto* begin = reinterpret_cast<const std::byte*>(row.data());
        bytes.insert(bytes.end(), begin, begin + row.size());
    }
    return bytes;
}

TEST(Spill, RowsAreThoseOfATableWithoutALimit) {
    for (std::size_t i = 0; i < optimizers.size(); ++i) {
        std::mt19937 dice(static_cast<unsigned>(i));
        Twins twins(spilled_options(optimizers[i], 1 + i % 3));
        std::size_t max = 0;
        for (int round = 0; round < 6; ++round) {
            twins.change(120, dice);
            max = std::max(max, twins.spilled.rows_on_disk());
            twins.expect_alike();
            ASSERT_FALSE(HasFailure()) << "optimizer " << i << ", round " << round;
        }
        EXPECT_GT(max, 1000U) << "most rows were in memory: the test says nothing";
    }
}

TEST(Spill, AdmissionAndDictSizeCountRowsOnDisk) {
    auto options = spilled_options(Adagrad{});
    options.admission = AdmitByCount{2, 4096};
    std::mt19937 dice(1);
    Twins counted(options);
    counted.change(700, dice);
    EXPECT_GT(counted.spilled.rows_on_disk(), 500U);
    counted.expect_alike();

    options.admission = AdmitAll{};
    options.dict_size = 5000;
    Twins limited(options);
    for (auto* table : {&limited.spilled, &limited.plain}) {
        pull(*table, 5000);
        Floats row(4);
        EXPECT_THROW(table->pull(Ids{-77}, row), DictSizeError);
        EXPECT_THROW(table->push({Ids{-77}, row}), DictSizeError);
        EXPECT_THROW(table->insert({-77, row, Floats(4)}), DictSizeError);
        pull(*table, 5000);
        EXPECT_TRUE(table->erase(id_of(3)));
        EXPECT_FALSE(table->erase(id_of(3)));
        table->pull(Ids{-77}, row);
    }
    EXPECT_GT(limited.spilled.rows_on_disk(), 2000U);
    limited.expect_alike();
}

TEST(Spill, MemoryStaysBelowTheLimit) {
    const tests::TemporaryFolder folder;
    auto options = spilled_options(Sgd{});
    options.width = 16;
    constexpr std::size_t memory = std::size_t{8} << 20U;
    constexpr std::uint64_t rows = 250'000;  // three times what fits
    SparseTable table(options, SpillOptions{folder.path(), memory});
    std::mt19937 dice(1);
    Ids ids(1000);
    Floats values(16 * ids.size());
    for (std::uint64_t n = 0; n < rows; n += ids.size()) {
        for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = id_of(n + i);
        table.pull(ids, values);
        ASSERT_LE(table.bytes(), memory) << table.size() << " rows, " << table.rows_on_disk() << " on disk";
    }
    for (int i = 0; i < 100; ++i) {
        for (auto& id : ids) id = id_of(dice() % rows);
        table.push({ids, values});
        ASSERT_LE(table.bytes(), memory) << table.rows_on_disk() << " rows on disk";
    }
    EXPECT_EQ(table.size(), rows);
    EXPECT_GT(table.rows_on_disk(), 165'000U);
    EXPECT_LT(table.rows_on_disk(), 180'000U) << "memory is not made use of";
}

TEST(Spill, RowsThatAreUsedStayInMemory) {
    const tests::TemporaryFolder folder;
    SparseTable table(spilled_options(Sgd{}), SpillOptions{folder.path(), little_memory});
    pull(table, 2000);  // some are on disk from now on, and uses are counted
    const auto often = many_ids(300);
    Floats rows(4 * often.size());
    int comebacks = 0;
    for (std::uint64_t n = 2000; n < 20'000; n += 100) {
        const auto before = table.rows_on_disk();
        table.pull(often, rows);
        // Rows go to disk by 1024; other numbers came back.
        if ((table.rows_on_disk() - before) % 1024 != 0) ++comebacks;
        for (std::uint64_t i = n; i < n + 100; ++i) table.pull(Ids{id_of(i)}, std::span(rows).first(4));
    }
    EXPECT_GT(table.rows_on_disk(), 15'000U);
    EXPECT_LE(comebacks, 2) << "but at the beginning";
}

TEST(Spill, BatchesLargerThanMemory) {
    Twins twins(spilled_options(Adam{}));
    const auto ids = many_ids(6000);
    for (auto* table : {&twins.spilled, &twins.plain}) {
        Floats rows(4 * ids.size());
        table->pull(ids, rows);
        pull(*table, 9000);
        table->push({ids, rows});
        pull(*table, 9000);
    }
    EXPECT_GT(twins.spilled.rows_on_disk(), 2000U);
    twins.expect_alike();
}

TEST(Spill, LoadsMoreRowsThanMemoryHolds) {
    SparseTable original(spilled_options(Adam{}));
    pull(original, 20'000);
    const auto bytes = bytes_of(original);
    const auto part = original.row_bytes() * 777;
    const auto load = [&](SparseTable& table, std::span<const std::byte> more) {
        table.load(original.size(), [&](BulkLoad& bulk) {
            for (std::size_t at = 0; at < bytes.size(); at += part)
                bulk.add(std::span(bytes).subspan(at, std::min(part, bytes.size() - at)));
            if (!more.empty()) bulk.add(more);
        });
    };
    for (const std::size_t arenas : {1, 3}) {
        Twins twins(spilled_options(Adam{}, arenas));
        for (auto* table : {&twins.spilled, &twins.plain}) load(*table, {});
        EXPECT_GT(twins.spilled.rows_on_disk(), 15'000U);
        EXPECT_EQ(bytes_of(twins.spilled), bytes);
        std::mt19937 dice(1);
        twins.change(100, dice, 30'000);
        twins.expect_alike();

        const tests::TemporaryFolder folder;
        // An id in memory, one on disk, one twice in a block.
        for (const auto at : {std::size_t{0}, bytes.size() - original.row_bytes()}) {
            SparseTable twice(spilled_options(Adam{}, arenas), SpillOptions{folder.path(), little_memory});
            EXPECT_THAT(
                message_of<Error>([&] { load(twice, std::span(bytes).subspan(at, original.row_bytes())); }),
                HasSubstr("comes twice"));
        }
    }
}

TEST(Spill, InsertsManyRowsAsOneByOne) {
    SparseTable original(spilled_options(Adam{}));
    pull(original, 9000);
    const auto bytes = bytes_of(original);
    const tests::TemporaryFolder folder;
    SparseTable table(spilled_options(Adam{}), SpillOptions{folder.path(), little_memory});
    const auto part = original.row_bytes() * 777;
    for (int i = 0; i < 2; ++i) {  // the second time all are there already
        for (std::size_t at = 0; at < bytes.size(); at += part)
            table.insert_rows(std::span(bytes).subspan(at, std::min(part, bytes.size() - at)));
        EXPECT_EQ(bytes_of(table), bytes);
    }
    EXPECT_GT(table.rows_on_disk(), 4000U);
}

TEST(Spill, CanBeMoved) {
    const tests::TemporaryFolder folder;
    SparseTable plain(spilled_options(Adam{}));
    pull(plain, 6000);
    std::vector<SparseTable> tables;
    for (int i = 0; i < 5; ++i)
        tables.emplace_back(spilled_options(Adam{}), SpillOptions{folder.path(), little_memory});
    for (auto& table : tables) pull(table, 6000);
    const auto last = std::move(tables.back());
    EXPECT_EQ(content(last), content(plain));
    EXPECT_EQ(content(tables.front()), content(plain));
}

TEST(SpillFolder, IsThereWhileTheTableIs) {
    const tests::TemporaryFolder folder;
    const auto entries = [&] {
        return std::distance(std::filesystem::directory_iterator(folder.path()), {});
    };
    {
        const SpillOptions spill{folder.path(), little_memory};
        const SparseTable one(spilled_options(Sgd{}), spill), other(spilled_options(Sgd{}), spill);
        EXPECT_EQ(entries(), 2);
    }
    EXPECT_EQ(entries(), 0);
    // What a process left that was killed goes; what has no owner yet may just begin.
    std::filesystem::create_directories(folder / "dtrain-rows-1-abcdef");
    std::filesystem::create_directories(folder / "dtrain-rows-2-abcdef");
    tests::write_bytes(folder / "dtrain-rows-1-abcdef" / "owner", "");
    { const SparseTable next(spilled_options(Sgd{}), SpillOptions{folder.path(), little_memory}); }
    EXPECT_FALSE(std::filesystem::exists(folder / "dtrain-rows-1-abcdef"));
    EXPECT_TRUE(std::filesystem::exists(folder / "dtrain-rows-2-abcdef"));
}

TEST(SpillFolder, IsRefusedWhenNothingCanBeWrittenThere) {
    const tests::TemporaryFolder folder;
    tests::write_bytes(folder / "file", "x");
    const auto refusal = [&](const std::filesystem::path& path) {
        return message_of([&] {
            const SparseTable table(spilled_options(Sgd{}), SpillOptions{path, little_memory});
        });
    };
    EXPECT_EQ(refusal(folder / "file"), "rows of sparse tables cannot be put on disk in " +
                                            (folder / "file").string() +
                                            ": Not a directory; name another folder");
    EXPECT_THAT(refusal(folder / "file" / "x"), HasSubstr("Not a directory"));
    EXPECT_THAT(refusal("/proc/dtrain"), HasSubstr("cannot be put on disk in /proc/dtrain: "));
    EXPECT_EQ(refusal(folder / "new" / "folder"), "");
}

TEST(Spill, RefusesALimitThatIsTooSmall) {
    const tests::TemporaryFolder folder;
    const auto refusal = [&](std::size_t memory) {
        return message_of([&] {
            const SparseTable table(spilled_options(Sgd{}), SpillOptions{folder.path(), memory});
        });
    };
    const auto text = refusal(1000);
    EXPECT_THAT(text, HasSubstr("table 'clicks': a limit of 1000 bytes of memory is too small: "));
    const auto min = std::stoul(text.substr(text.find("small: ") + 7));
    EXPECT_EQ(refusal(min), "");
    EXPECT_NE(refusal(min - 8), "");
}

TEST(Spill, TellsWhenTheDiskFailsAndLosesNothing) {
    Twins twins(spilled_options(Adam{}));
    pull(twins.spilled, 6000);
    pull(twins.plain, 6000);
    std::string failure;
    {
        const tests::SmallFiles disk(20'000);
        std::mt19937 dice(1);
        for (int i = 0; i < 3000 && failure.empty(); ++i) {
            Ids ids(200);
            for (auto& id : ids) id = id_of(dice() % 9000);
            const Floats gradients(4 * ids.size(), 1);
            failure = message_of<Error>([&] { twins.spilled.push({ids, gradients}); });
            if (failure.empty()) twins.plain.push({ids, gradients});
        }
    }
    EXPECT_THAT(failure, HasSubstr("rows of a sparse table cannot be written to disk in " +
                                   twins.folder.path().string()));
    EXPECT_THAT(failure, HasSubstr("File too large"));
    twins.expect_alike();
    Floats expected(4 * 9000), found(expected.size());
    twins.plain.find(many_ids(9000), expected);
    twins.spilled.find(many_ids(9000), found);
    EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace dtrain::ps
