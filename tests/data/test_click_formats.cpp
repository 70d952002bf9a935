// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: the same displays written down by hand in three formats, which are one log; values that anybody
// reads in the lines; XXH64 of short texts as its authors and other implementations print them.
#include <limits>
#include <zlib.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/click_log.hpp>
#include <dtrain/error.hpp>

#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::message_of;

const std::string in_criteos_format =
    "1\t5\t-3\ta\t64\t3e8\n"
    "0\t\t0\t\t1f4\tffffffff\n"
    "0\t2147483647\t\t63\t\t\n";
const std::string in_csv =
    "id,clicked,age,price,site,user,ad\n"
    "9001,1,5,-3,10,100,1000\n"
    "9002,0,,0,,500,4294967295\n"
    "9003,0,2147483647,,99,,\n";
const std::string in_svmlight =
    "+1 1:5 2:-3 10:1 100:1 1000:1\n"
    "-1 qid:7 2:0 500:1 4294967295:1 # the site is missing\n"
    "-1 1:2147483647 99:1\n";

const CsvClickColumns csv_columns{
    .label = "clicked", .numbers = {{"age", "price"}}, .categories = {{"site", "user", "ad"}}};
const SvmlightClickColumns svmlight_columns{.numbers = 2, .slot_ids = {10, 100, 1000}};

class ClickFormats : public testing::Test {
  protected:
    std::filesystem::path file(const std::string& content, const std::string& name = "c") const {
        tests::write_bytes(folder / name, content);
        return folder / name;
    }
    ClickLog read(const std::string& content, const ClickLayout& layout) const {
        return ClickLog::read(file(content), layout);
    }
    std::string refusal(const std::string& content, const ClickLayout& layout) const {
        const auto message = message_of([&] { read(content, layout); });
        const auto prefix = folder.path().string() + "/";
        return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
    }

    const tests::TemporaryFolder folder;
};

TEST_F(ClickFormats, TheSameDisplaysAreTheSameLog) {
    const auto log = read(in_criteos_format, ClickColumns{2, 3});
    EXPECT_EQ(log.size(), 3);
    EXPECT_EQ(log.ids[3], missing_id(0));
    EXPECT_EQ(read(in_csv, csv_columns), log);
    EXPECT_EQ(read(in_svmlight, svmlight_columns), log);
}

TEST_F(ClickFormats, Compressed) {
    const auto compressed = [&](const std::string& text) {
        const auto path = folder / "c.gz";
        auto* zipped = ::gzopen(path.c_str(), "wb");
        ::gzwrite(zipped, text.data(), static_cast<unsigned>(text.size()));
        ::gzclose(zipped);
        return path;
    };
    EXPECT_EQ(ClickLog::read(compressed(in_csv), csv_columns), read(in_csv, csv_columns));
    EXPECT_EQ(ClickLog::read(compressed(in_svmlight), svmlight_columns), read(in_svmlight, svmlight_columns));
}

TEST_F(ClickFormats, NamesTellFormats) {
    for (const char* name : {"c.csv", "c.csv.gz", "C.CSV"})
        EXPECT_EQ(click_layout_of(name), ClickLayout(CsvClickColumns{})) << name;
    for (const char* name : {"c.svm", "c.svmlight", "a/c.LibSVM.gz"})
        EXPECT_EQ(click_layout_of(name), ClickLayout(SvmlightClickColumns{})) << name;
    for (const char* name : {"c.tsv", "train.txt", "day_0.gz", "csv"})
        EXPECT_EQ(click_layout_of(name), ClickLayout(ClickColumns{})) << name;
}

TEST_F(ClickFormats, CsvAsProgramsWriteIt) {
    const auto log = read(
        "\xef\xbb\xbf\"click\" ; price;site\r\n"
        "\r\n"
        " 1.0 ; 0.5;\"a; \"\"b\"\"\"\r\n"
        "0; +1e3 ; a b \r\n"
        "\"0\";\"-0\";\"\"",
        CsvClickColumns{.numbers = {{"price"}}, .separator = ';'});
    EXPECT_THAT(log.labels, ElementsAre(1, 0, 0));
    EXPECT_THAT(log.dense, ElementsAre(damped(0.5), damped(1000), 0));
    EXPECT_FALSE(std::signbit(log.dense[2]));
    EXPECT_THAT(log.ids, ElementsAre(category_id(0, text_category("a; \"b\"")),
                                     category_id(0, text_category("a b")), missing_id(0)));
}

TEST_F(ClickFormats, CsvWithoutAHeader) {
    const std::string text = "1,abc,2\n0,x,\n";
    const auto log = read(text, CsvClickColumns{.numbers = {{"3"}}});
    EXPECT_THAT(log.labels, ElementsAre(1, 0));
    EXPECT_THAT(log.dense, ElementsAre(damped(2), 0));
    EXPECT_EQ(read("abc,1,2\nx,0,\n", CsvClickColumns{.label = "2", .numbers = {{"3"}}}), log);
    EXPECT_EQ(read("0,1,2\n" + text, CsvClickColumns{.label = "0", .numbers = {{"2"}}, .header = true}), log)
        << "the columns are called 0, 1 and 2";
    EXPECT_EQ(read("id,click,no\n1,1,a\n", CsvClickColumns{.categories = {{"no"}}}).labels.size(), 1U);
}

TEST_F(ClickFormats, ColumnsOfCsvThatAreNotNamed) {
    const std::string text = "age,site,label,ad\n1,2,0,3\n";
    const auto sizes = [&](const CsvClickColumns& columns) {
        const auto log = read(text, columns);
        return std::pair(log.integers, log.slots);
    };
    EXPECT_EQ(sizes({}), std::pair(0L, 3L));
    EXPECT_EQ(sizes({.numbers = {{"age"}}}), std::pair(1L, 2L));
    EXPECT_EQ(sizes({.categories = {{"ad"}}}), std::pair(2L, 1L));
    EXPECT_EQ(sizes({.numbers = {{"age"}}, .categories = {{"ad"}}}), std::pair(1L, 1L));
    EXPECT_EQ(read(text, CsvClickColumns{.categories = {{"ad", "site"}}}).ids,
              (std::vector{category_id(0, 3), category_id(1, 2)}));
}

TEST_F(ClickFormats, AnotherLogIsReadAlike) {
    const auto first = file("click,age,site,ad\n1,2,a,b\n", "first.csv");
    const auto other = file("day,ad,site,age,click\n3,b,a,2,1\n", "other.csv");
    const auto layout = click_layout_in(first, CsvClickColumns{.numbers = {{"age"}}});
    EXPECT_EQ(layout,
              ClickLayout(CsvClickColumns{
                  .label = "click", .numbers = {{"age"}}, .categories = {{"site", "ad"}}, .header = true}));
    EXPECT_EQ(ClickLog::read(other, layout), ClickLog::read(first, layout));
    EXPECT_EQ(click_layout_in(file(",a,a,click\n1,2,3,0\n"), CsvClickColumns{}),
              ClickLayout(CsvClickColumns{.label = "click",
                                          .numbers = {std::vector<std::string>()},
                                          .categories = {{"1", "2", "3"}},
                                          .header = true}))
        << "by number where names do not tell";

    EXPECT_EQ(click_layout_in(file("1 3:1 9:1\n"), SvmlightClickColumns{}),
              ClickLayout(SvmlightClickColumns{.slots = 2}));
    EXPECT_EQ(click_layout_in(first, ClickColumns{1, 2}), ClickLayout(ClickColumns{1, 2}));
}

TEST_F(ClickFormats, SlotsOfSvmlightByTheirOrder) {
    const auto log = read("1 90:1 5:1\n0 5:1 5:1.0\n", SvmlightClickColumns{});
    EXPECT_EQ(log.slots, 2);
    EXPECT_THAT(log.ids,
                ElementsAre(category_id(0, 90), category_id(1, 5), category_id(0, 5), category_id(1, 5)));
    EXPECT_THAT(log.labels, ElementsAre(1, 0));
    const auto numbered =
        read("# a comment\n1 0:0.25 90:1\n0 7:1\n", SvmlightClickColumns{.numbers = 1, .first_id = 0});
    EXPECT_THAT(numbered.dense, ElementsAre(damped(0.25), 0));
    EXPECT_THAT(numbered.ids, ElementsAre(category_id(0, 90), category_id(0, 7)));
    EXPECT_EQ(read("1 9223372036854775807:1\n", SvmlightClickColumns{}).ids[0],
              category_id(0, std::numeric_limits<std::int64_t>::max()));
}

TEST_F(ClickFormats, ErrorsOfCsvNameFileLineAndColumn) {
    const std::string header = "label,age,site\n";
    const CsvClickColumns columns{.numbers = {{"age"}}};
    struct Wrong {
        std::string text;
        std::string message;
    };
    for (const auto& wrong : std::initializer_list<Wrong>{
             {header + "1,2\n", "c:2: 2 columns instead of 3"},
             {header + "\n1,2,a\n1,2,a,\n", "c:4: 4 columns instead of 3"},
             {header + "2,2,a\n", "c:2: '2' in column 1, 'label', is no label: 1 for a click, or 0"},
             {header + ",2,a\n", "c:2: '' in column 1, 'label', is no label: 1 for a click, or 0"},
             {header + "1,2,a\n1,x,a\n", "c:3: 'x' in column 2, 'age', is no finite number"},
             {header + "1,nan,a\n", "c:2: 'nan' in column 2, 'age', is no finite number"},
             {header + "1,1e999,a\n", "c:2: '1e999' in column 2, 'age', is no finite number"},
             {header + "1,2,\"a\n", "c:2: column 3: \"a: the quotes do not end in this line"},
             {header + "1,\"2\"x,a\n", "c:2: column 2: \"2\"x,a: a text goes on behind its quotes"},
             {"label,agee,site\n1,2,a\n",
              "c:1: there is no column 'age' among 3 columns; did you mean 'agee'?"},
             {"age,site\n1,a\n", "c:1: no column is called 'label' or 'click'; say which one is the label"},
             {"label,age,click\n1,2,1\n",
              "c:1: more than one column is called 'label' or 'click'; say which one is the label"},
             {"label,age,age\n1,2,3\n", "c:1: 2 columns are called 'age'"},
             {"label\tage\tsite\n",
              "c:1: there is no ',' in it, but a line needs a label and a category; is the "
              "separator another one?"},
             {"label,age\n1,2\n",
              "c:1: a click log with 1 number and 0 categories: 0..4096 and 1..4096 are possible"},
             {header, "c: there is no sample in it"},
             {"", "c: there is no sample in it"}})
        EXPECT_EQ(refusal(wrong.text, columns), wrong.message) << wrong.text;
    EXPECT_EQ(refusal("1,x,a\n", CsvClickColumns{.numbers = {{"2"}}}),
              "c:1: 'x' in column 2 is no finite number");
    // A sample whose label is wrong would else be taken for a header, and be missing without a word.
    for (const auto* label : {"2", "-1", "1.0.0", "", "NA"})
        EXPECT_EQ(
            refusal(fmt::format("{},2,a\n1,2,b\n", label), CsvClickColumns{.label = "1", .numbers = {{"2"}}}),
            fmt::format(
                "c:1: '{}' in column 1 is no label: 1 for a click, or 0; if this line has the names of "
                "the columns, say so (header = true)",
                label));
    EXPECT_EQ(refusal("1,2,a\n", CsvClickColumns{.numbers = {{"4"}}}),
              "c:1: there is no column '4' among 3 columns, and no header");
    EXPECT_EQ(
        refusal(header + "1,2,a\n", CsvClickColumns{.numbers = {{"age"}}, .categories = {{"site", "2"}}}),
        "c:1: column 'age' cannot be two of label, number and category");
    EXPECT_EQ(refusal(header + "1,2,a\n", CsvClickColumns{.categories = {{"label"}}}),
              "c:1: column 'label' cannot be two of label, number and category");
}

TEST_F(ClickFormats, ErrorsOfSvmlightNameFileLineAndWord) {
    struct Wrong {
        std::string text;
        std::string message;
    };
    for (const auto& wrong : std::initializer_list<Wrong>{
             {"1 1:2 10:1\n2 10:1\n", "c:2: '2' is no label: 1 for a click, else 0 or -1"},
             {"0 10:1\n-1 10:1\n", "c:2: the label -1, but an earlier line has 0 for no click"},
             {"1 10\n", "c:1: '10' is not ID:VALUE"},
             {"1 0:10:1\n", "c:1: '0:10:1' is not ID:VALUE"},
             {"1 0:1\n", "c:1: '0:1': a feature id is a whole number, 1 or more"},
             {"1 1:x\n", "c:1: '1:x': its value is no finite number"},
             {"1 2:inf\n", "c:1: '2:inf': its value is no finite number"},
             {"1 2:1 2:1\n", "c:1: '2:1': its id is there twice"},
             {"1 10:0.5\n", "c:1: '10:0.5': the value of a category is 1; ids of numbers are 1 to 2"},
             {"1 9:1\n", "c:1: '9:1': its id is below those of the first slot, 10 and more"},
             {"1 10:1 99:1\n", "c:1: '99:1': a second category in the slot of the ids from 10"},
             {"# nothing\n", "c: there is no sample in it"}})
        EXPECT_EQ(refusal(wrong.text, svmlight_columns), wrong.message) << wrong.text;
    const std::string left_out =
        ": lines may leave categories out only where the first id of each slot is told";
    EXPECT_EQ(refusal("1 5:1 6:1\n0 7:1\n", SvmlightClickColumns{}),
              "c:2: 1 category instead of 2" + left_out);
    EXPECT_EQ(refusal("1 5:1 6:1\n", SvmlightClickColumns{.slots = 3}),
              "c:1: 2 categories instead of 3" + left_out);
    EXPECT_EQ(refusal("1\n", SvmlightClickColumns{}), "c:1: 0 categories: a line has 1..4096");
    EXPECT_EQ(refusal("1 5:2\n", SvmlightClickColumns{}),
              "c:1: '5:2': the value of a category is 1; no ids are said to be those of numbers");
    EXPECT_EQ(refusal("", SvmlightClickColumns{.numbers = 2, .slot_ids = {2, 5}}),
              "the slots of a click log begin with the ids 2, 5: 2 must be above 2");
    EXPECT_EQ(refusal("", SvmlightClickColumns{.slot_ids = {5, 5}}),
              "the slots of a click log begin with the ids 5, 5: 5 must be above 5");
    EXPECT_THAT(refusal("", SvmlightClickColumns{.numbers = 4097}), HasSubstr("0..4096"));
    EXPECT_THAT(refusal("", SvmlightClickColumns{.slots = -1}), HasSubstr("1..4096"));
    EXPECT_THAT(refusal("", SvmlightClickColumns{.first_id = -1}), HasSubstr("it must be in 0.."));
}

TEST(TextCategories, AreNumbersOrXxh64) {
    EXPECT_EQ(text_category("0"), 0U);
    EXPECT_EQ(text_category("1460"), 1460U);
    EXPECT_EQ(text_category("18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(text_category(""), 0xef46db3751d8e999U);
    EXPECT_EQ(text_category("a"), 0xd24ec4f1a98c6e5bU);
    EXPECT_EQ(text_category("abc"), 0x44bc2cf5ad770999U);
    EXPECT_EQ(text_category("xxhash"), 0x32dd38952c4bc720U);
    for (const char* text : {"01", "1.0", "-1", "+1", "18446744073709551617", "0x1"})
        EXPECT_GT(text_category(text), 1U << 31) << text;
}

}  // namespace
}  // namespace dtrain
