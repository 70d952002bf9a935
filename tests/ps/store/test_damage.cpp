// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the files as they were written: any other bytes are refused, naming the file, and no table comes of
// them. A header with a checksum that fits may say anything.
#include <cstdlib>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "ps/store/sample_table.hpp"
#include "storage/block_io.hpp"
#include "storage/index_block.hpp"
#include "support/fuzz.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain::ps {
namespace {

using namespace tests;
using testing::HasSubstr;

constexpr std::string_view magic = "dtrain table 1";

/// A full save and one of changes, some blocks each.
class DamagedTable : public testing::Test {
  protected:
    void SetUp() override {
        std::mt19937 dice(1);
        SparseTable table(sample_options());
        table.track_changes();
        change(40, table, dice);
        inserted(table, 0, 200);
        TableSaver saver(table, {}, std::nullopt, small_blocks);
        chain.push_back(save(saver, folder / "all"));
        before = whole(table);
        change(20, table, dice);
        inserted(table, 150, 250);
        table.erase(content(table).begin()->first);
        chain.push_back(save(saver, folder / "changed", WhichRows::changed));
        after = whole(table);
    }

    /// Makes rows for some ids.
    static void inserted(SparseTable& table, std::uint64_t from, std::uint64_t to) {
        Ids ids;
        while (from < to) ids.push_back(sample_id(from++));
        Floats rows(3 * ids.size());
        table.pull(ids, rows);
        table.pull(ids, rows);
        table.push({ids, rows});
    }

    std::filesystem::path file(std::size_t link) const {
        return chain[link].folder / chain[link].files[0].file;
    }

    std::string refusal() const {
        return message_of([&] { load_table(sample_options(), chain, {}); });
    }

    /// Under DTRAIN_STRESS every byte, else some hundreds.
    static std::size_t stride(std::size_t bytes) {
        return std::getenv("DTRAIN_STRESS") != nullptr ? 1 : std::max<std::size_t>(1, bytes / 397);
    }

    const TemporaryFolder folder;
    std::vector<SavedTable> chain;
    Whole before, after;
};

TEST_F(DamagedTable, EveryFlippedByteIsNoticed) {
    for (const std::size_t link : {0, 1}) {
        const auto good = bytes_of(file(link));
        ASSERT_GE(good.size(), 4 * 4096U);
        for (std::size_t at = 0; at < good.size(); at += stride(good.size())) {
            auto bytes = good;
            bytes[at] = static_cast<char>(bytes[at] ^ (1 << (at % 8)));
            write_bytes(file(link), bytes);
            ASSERT_THAT(refusal(), HasSubstr(file(link).string())) << "byte " << at;
            ASSERT_NE(message_of([&] { check_table_file(file(link)); }), "") << "byte " << at;
        }
        write_bytes(file(link), good);
        check_table_file(file(link));
    }
    EXPECT_EQ(whole(load_table(sample_options(), chain, {}).table), after);
    // Without the changes, the checkpoint before is there.
    chain.pop_back();
    EXPECT_EQ(whole(load_table(sample_options(), chain, {}).table), before);
}

TEST_F(DamagedTable, EveryCutAndEveryAdditionIsNoticed) {
    for (const std::size_t link : {0, 1}) {
        const auto good = bytes_of(file(link));
        for (std::size_t length = 0; length < good.size(); length += stride(good.size())) {
            write_bytes(file(link), good.substr(0, length));
            ASSERT_THAT(refusal(), HasSubstr(file(link).string())) << length << " bytes";
        }
        for (const std::size_t more : {1, 4096, 100000}) {
            write_bytes(file(link), good + std::string(more, '\0'));
            ASSERT_THAT(refusal(),
                        HasSubstr(fmt::format("{} bytes instead of {}", good.size() + more, good.size())));
        }
        write_bytes(file(link), good);
    }
}

TEST_F(DamagedTable, AMissingFileIsNamed) {
    std::filesystem::remove(file(1));
    EXPECT_EQ(refusal(), "cannot read " + file(1).string() + ": No such file or directory");
    std::filesystem::create_directory(file(1));
    EXPECT_THAT(refusal(), HasSubstr(file(1).string()));
}

TEST_F(DamagedTable, AnOlderFileOfTheSameNameIsNotTaken) {
    std::filesystem::copy_file(file(0), file(1), std::filesystem::copy_options::overwrite_existing);
    EXPECT_THAT(refusal(), HasSubstr(file(1).string()));
}

/// With a checksum that fits.
std::string with_header(const std::string& good, const std::string& json) {
    const auto block = *storage::index_block_in(good, magic);
    const auto bytes = std::max(block, storage::index_block_bytes(magic, json.size()));
    std::string header(bytes, '\0');
    storage::put_index_block(header, magic, json, bytes);
    return header + good.substr(block);
}

TEST_F(DamagedTable, AHeaderMaySayAnything) {
    const auto good = bytes_of(file(0));
    const auto block = *storage::index_block_in(good, magic);
    const std::string json(*storage::json_of_index_block(good.substr(0, block), magic));
    ASSERT_EQ(with_header(good, json), good);
    Corpus corpus{{json}, {}};
    const auto parsed = nlohmann::json::parse(json);
    for (const auto& [name, value] : parsed.items())
        corpus.pieces.push_back("\"" + name + "\":" + value.dump());
    // A file each time: a tenth of the usual rounds.
    for (std::uint64_t seed = 0; seed < rounds() / 10; ++seed) {
        Mutator mutator(corpus, seed);
        // One number or text of the right place is another one, or the text is any.
        auto altered = parsed;
        auto text = mutator.damaged(json);
        if (mutator.one_in(2)) {
            auto flat = altered.flatten();
            auto at = std::next(flat.begin(), static_cast<std::ptrdiff_t>(mutator.below(flat.size())));
            *at = mutator.one_in(3)   ? nlohmann::json(mutator.below(100))
                  : mutator.one_in(2) ? nlohmann::json(std::uint64_t{1} << mutator.below(64))
                                      : nlohmann::json(-1.5 * static_cast<double>(mutator.below(9)));
            text = flat.unflatten().dump();
        }
        write_bytes(file(0), with_header(good, text));
        // It may be refused, or say that there are fewer rows: no crash, no other rows.
        auto info = chain[0].files[0];
        try {
            const auto stored = read_table_header(file(0));
            info = stored.info;
            info.file = file(0).filename();
        } catch (const UsageError& error) {
            ASSERT_TRUE(is_helpful(error.what(), {file(0).string()})) << "seed " << seed;
            continue;
        }
        auto renamed = chain[0];
        renamed.files = {info};
        try {
            const auto loaded = load_table(sample_options(), {&renamed, 1}, info.shard);
            for (const auto& [id, row] : content(loaded.table))
                ASSERT_EQ(row, before.rows.at(id)) << "seed " << seed;
        } catch (const Error& error) {
            ASSERT_TRUE(is_helpful(error.what(), {file(0).string()})) << "seed " << seed;
        }
    }
}

TEST_F(DamagedTable, AnyBytesAreNoReasonToCrash) {
    const auto good = bytes_of(file(0));
    const Corpus corpus{{good.substr(0, 5000), "dtrain table 1 of 4096 bytes, xxh3 0123456789abcdef\n{}"},
                        {"dtrain table 1", " of ", "4096", " bytes, xxh3 ", "\n", "{", "}", "\"rows\":"}};
    for (std::uint64_t seed = 0; seed < rounds(); ++seed) {
        Mutator mutator(corpus, seed);
        write_bytes(file(0), mutator.text());
        ASSERT_TRUE(is_helpful(refusal(), {file(0).string()})) << "seed " << seed;
    }
}

TEST(TableFileAsJson, ComesBackAndAnyTextIsRefused) {
    const TableFile file{"a \"b\"", {2, 3}, WhichRows::changed, "x.rows", 4096, "0123456789abcdef", 9};
    EXPECT_EQ(table_file_from_json(to_json(file)), file);
    auto elsewhere = file;
    elsewhere.file = "../x.rows";
    EXPECT_THAT(message_of([&] { table_file_from_json(to_json(elsewhere)); }), HasSubstr("../x.rows"));
    const Corpus corpus{{to_json(file)}, {"{", "}", "\"table\":", "\"bytes\":", "1", ","}};
    for_all(
        corpus, [](Mutator& mutator) { return mutator.text(); },
        [](const std::string& text) {
            try {
                const auto read = table_file_from_json(text);
                EXPECT_EQ(read.file.find('/'), std::string::npos);
            } catch (const UsageError&) {
            }
        });
}

TEST(TableFileName, IsAPlainNameForAnyTable) {
    EXPECT_EQ(table_file_name("clicks", {1, 3}), "clicks-0001-of-0003.rows");
    EXPECT_EQ(table_file_name("../a b%", {0, 1}), "%2E.%2Fa%20b%25-0000-of-0001.rows");
    const std::string one(300, 'x'), other(301, 'x');
    EXPECT_LT(table_file_name(one, {0, 1}).size(), 240U);
    EXPECT_NE(table_file_name(one, {0, 1}), table_file_name(other, {0, 1}));
}

TEST(ServerShard, KnowsWhatItHasInCommonWithAnother) {
    EXPECT_EQ(common_part({0, 2}, {0, 4}), 0.5);
    EXPECT_EQ(common_part({0, 4}, {0, 2}), 1);
    EXPECT_EQ(common_part({1, 2}, {1, 4}), 0);
    EXPECT_NEAR(common_part({1, 3}, {0, 2}), 0.5, 1e-12);
    // No id is in two shards that have nothing in common.
    for (std::uint64_t n = 0; n < 20000; ++n) {
        const auto id = sample_id(n);
        for (const std::uint32_t from : {1U, 2U, 3U, 6U, 7U})
            for (const std::uint32_t to : {1U, 2U, 3U, 6U, 49U})
                ASSERT_GT(common_part({server_of(id, from), from}, {server_of(id, to), to}), 0) << id;
    }
}

}  // namespace
}  // namespace dtrain::ps
