// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the table's own rows; lines as a person would write them for a few rows.
#include <charconv>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/store/describe_tables.hpp"
#include "ps/store/export_table.hpp"
#include "ps/store/sample_table.hpp"
#include "storage/hdf5_file.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain::ps {
namespace {

using namespace tests;
using testing::HasSubstr;

SparseTable two_rows() {
    SparseTable table({.name = "clicks", .width = 2, .optimizer = Adagrad{.learning_rate = 0.5}});
    table.insert({.id = 5, .weights = Floats{0.1F, -2}, .state = Floats(2)});
    table.insert(
        {.id = std::numeric_limits<std::int64_t>::min(), .weights = Floats{1e-30F, 3}, .state = Floats(2)});
    return table;
}

TEST(ExportTable, WritesCsvInTheOrderOfTheIds) {
    const TemporaryFolder folder;
    export_csv(two_rows(), folder / "clicks.csv");
    EXPECT_EQ(bytes_of(folder / "clicks.csv"), "id,w0,w1\n-9223372036854775808,1e-30,3\n5,0.1,-2\n");
    EXPECT_THAT(message_of<Error>([&] { export_csv(two_rows(), folder / "none/clicks.csv"); }),
                HasSubstr("none/clicks.csv: No such file"));
}

TEST(ExportTable, CsvAndHdf5HaveTheBitsOfEveryRow) {
    const TemporaryFolder folder;
    SparseTable table({.name = "clicks", .width = 40, .initializer = NormalRow{0.1}, .optimizer = Adam{}});
    std::mt19937 dice(1);
    change(500, table, dice);
    ASSERT_GT(table.size(), 1000U);
    export_csv(table, folder / "clicks.csv");
    export_hdf5(table, folder / "clicks.h5");

    const auto file = storage::Hdf5File::open(folder / "clicks.h5");
    const auto ids = file.read_integers("/ids");
    const auto weights = file.read_floats("/weights");
    EXPECT_THAT(file.info("/weights").shape, testing::ElementsAre(table.size(), 40));
    EXPECT_EQ(file.read_text("/", "table"), "clicks");
    EXPECT_TRUE(std::ranges::is_sorted(ids));
    ASSERT_EQ(ids.size(), table.size());
    Floats expected(weights.size());
    table.find(ids, expected);
    EXPECT_EQ(weights, expected);

    std::istringstream lines(bytes_of(folder / "clicks.csv"));
    std::string line;
    std::getline(lines, line);
    for (std::size_t row = 0; row < ids.size(); ++row) {
        ASSERT_TRUE(std::getline(lines, line));
        std::istringstream cells(line);
        std::string cell;
        std::getline(cells, cell, ',');
        ASSERT_EQ(cell, std::to_string(ids[row]));
        for (std::size_t i = 0; i < 40; ++i) {
            ASSERT_TRUE(std::getline(cells, cell, ','));
            float value = 0;
            std::from_chars(cell.data(), cell.data() + cell.size(), value);
            ASSERT_EQ(value, expected[row * 40 + i]);
        }
    }
    EXPECT_FALSE(std::getline(lines, line));
}

TEST(ExportTable, AnEmptyTableIsAnEmptyFile) {
    const TemporaryFolder folder;
    const SparseTable table({.name = "clicks", .width = 2});
    export_csv(table, folder / "clicks.csv");
    export_hdf5(table, folder / "clicks.h5");
    EXPECT_EQ(bytes_of(folder / "clicks.csv"), "id,w0,w1\n");
    EXPECT_THAT(storage::Hdf5File::open(folder / "clicks.h5").info("/weights").shape,
                testing::ElementsAre(0, 2));
}

TEST(DescribeTables, SaysWhatIsInAFolder) {
    const TemporaryFolder folder;
    EXPECT_EQ(describe_tables(folder.path()), "");
    EXPECT_EQ(describe_tables(folder / "none"), "");
    auto table = two_rows();
    table.set_day(4);
    table.set_counts({9, 7, 3, 1});
    const auto saved = save(table, folder / "epoch-000012", {0, 2});
    const auto sum = saved.files[0].sum;
    EXPECT_EQ(
        describe_tables(saved.folder),
        "table clicks: 2 rows (all there are), 8192 bytes\n"
        "  row        24 bytes: width 2, adagrad, no statistics\n"
        "  saved      epoch-000012, step 7, day 4\n"
        "  servers    2, files of 1 are missing\n"
        "  rows ever  9 inserted, 7 evicted\n"
        "  gradients  3 rejected, 1 for ids not admitted\n"
        "  settings   "
        R"({"admission":null,"dict_size":null,"initializer":{"kind":"constant","value":0.0},"name":"clicks",)"
        R"("optimizer":{"epsilon":1e-06,"initial":0.0,"kind":"adagrad","learning_rate":0.5},)"
        R"("regularisation":null,"reject_not_finite":false,"seed":0,"statistics":null,"width":2})"
        "\n  clicks-0000-of-0002.rows  2 rows  8192 bytes  xxh3 " +
            sum + "\n");
    write_bytes(saved.folder / "other.rows", "dtrain");
    EXPECT_THAT(describe_tables(saved.folder), HasSubstr("other.rows: this is no file of a sparse table"));
}

}  // namespace
}  // namespace dtrain::ps
