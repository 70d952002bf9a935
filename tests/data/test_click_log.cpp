// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: lines written out by hand; ids that a few lines of Python computed from the formula in the header,
// and the first number that SplitMix64's authors give for the state 0; counting for what must not collide.
#include <cmath>
#include <limits>
#include <set>
#include <zlib.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/click_log.hpp>
#include <dtrain/error.hpp>

#include "base/checksum.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::message_of;

constexpr ClickColumns small{2, 3};

class ClickLogFile : public testing::Test {
  protected:
    std::filesystem::path file(const std::string& content) {
        tests::write_bytes(folder / "c.tsv", content);
        return folder / "c.tsv";
    }
    std::string refusal(const std::string& content) {
        auto message = message_of([&] { ClickLog::read(file(content), small); });
        const auto prefix = folder.path().string() + "/";
        return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
    }

    const tests::TemporaryFolder folder;
};

TEST_F(ClickLogFile, LabelsNumbersAndCategories) {
    const auto log = ClickLog::read(file("1\t1\t-1\t0\tffffffffffffffff\t68fd1E64\r\n"
                                         "\n"
                                         "0\t\t2147483647\t\t8000000000000000\t"),
                                    small);
    EXPECT_EQ(log.size(), 2);
    EXPECT_EQ(log.integers, 2);
    EXPECT_EQ(log.slots, 3);
    EXPECT_THAT(log.labels, ElementsAre(1, 0));
    const auto log2 = static_cast<float>(std::log(2.0));
    EXPECT_THAT(log.dense, ElementsAre(log2, -log2, 0, static_cast<float>(31 * std::log(2.0))));
    EXPECT_THAT(log.ids,
                ElementsAre(category_id(0, 0), category_id(1, 0xffffffffffffffff), category_id(2, 0x68fd1e64),
                            missing_id(0), category_id(1, 0x8000000000000000), missing_id(2)));
}

TEST_F(ClickLogFile, CriteosColumnsAreTheDefault) {
    const auto line = "0\t1\t1\t5\t0\t1382\t4\t15\t2\t181\t1\t2\t\t2" + [] {
        std::string categories;
        for (int slot = 0; slot < 26; ++slot) categories += slot % 5 == 0 ? "\t" : "\t68fd1e64";
        return categories;
    }();
    const auto log = ClickLog::read(file(line + "\n"));
    EXPECT_EQ(log.dense.size(), 13U);
    EXPECT_EQ(log.ids.size(), 26U);
    EXPECT_EQ(log.ids[1], category_id(1, 0x68fd1e64));
    EXPECT_EQ(log.ids[25], missing_id(25));
}

TEST_F(ClickLogFile, ALogWithoutNumbers) {
    const auto log = ClickLog::read(file("1\ta\n0\tb\n"), {0, 1});
    EXPECT_TRUE(log.dense.empty());
    EXPECT_THAT(log.ids, ElementsAre(category_id(0, 10), category_id(0, 11)));
}

TEST_F(ClickLogFile, ErrorsNameFileAndLine) {
    const std::string good = "1\t1\t2\ta\tb\tc\n";
    EXPECT_EQ(refusal(good + "1\t1\t2\ta\tb\n"),
              "c.tsv:2: 5 columns instead of 6: the label, 2 whole numbers, 3 categories");
    EXPECT_EQ(refusal(good + "\n" + good + "1\t1\t2\ta\tb\tc\t\n"),
              "c.tsv:4: 7 columns instead of 6: the label, 2 whole numbers, 3 categories");
    EXPECT_EQ(
        refusal("1,1,2,a,b,c\n"),
        "c.tsv:1: 1 column instead of 6: the label, 2 whole numbers, 3 categories; there is no tab, so is "
        "this another format?");
    EXPECT_EQ(refusal("2\t1\t2\ta\tb\tc\n"), "c.tsv:1: '2' in column 1 is no label: 1 for a click, or 0");
    EXPECT_EQ(refusal("\t1\t2\ta\tb\tc\n"), "c.tsv:1: '' in column 1 is no label: 1 for a click, or 0");
    EXPECT_EQ(refusal("1\t1\t1.5\ta\tb\tc\n"), "c.tsv:1: '1.5' in column 3 is no whole number of 64 bits");
    EXPECT_EQ(refusal("1\t1\t9223372036854775808\ta\tb\tc\n"),
              "c.tsv:1: '9223372036854775808' in column 3 is no whole number of 64 bits");
    for (const char* wrong : {"g", "-1", "0x1", " a", "1ffffffffffffffff", "00000000000000001"})
        EXPECT_EQ(refusal("1\t1\t2\ta\t" + std::string(wrong) + "\tc\n"),
                  "c.tsv:1: '" + std::string(wrong) +
                      "' in column 5 is no category: a hexadecimal number of up to 16 digits");
    EXPECT_EQ(refusal(""), "c.tsv: there is no sample in it");
    EXPECT_THAT(message_of([&] { ClickLog::read(folder / "none"); }), HasSubstr("cannot read"));
    EXPECT_THAT(message_of([&] { ClickLog::read(file(good), {0, 0}); }), HasSubstr("1..4096"));
    EXPECT_THAT(message_of([&] { ClickLog::read(file(good), {4097, 1}); }), HasSubstr("0..4096"));
}

TEST_F(ClickLogFile, Compressed) {
    const std::string text = "1\t1\t2\ta\tb\tc\n0\t3\t4\td\te\tf\n";
    const auto path = folder / "c.tsv.gz";
    auto* zipped = ::gzopen(path.c_str(), "wb");
    ::gzwrite(zipped, text.data(), static_cast<unsigned>(text.size()));
    ::gzclose(zipped);
    EXPECT_EQ(ClickLog::read(path, small), ClickLog::read(file(text), small));
    const auto bytes = tests::bytes_of(path);
    tests::write_bytes(path, bytes.substr(0, bytes.size() / 2));
    EXPECT_THAT(message_of([&] { ClickLog::read(path, small); }), HasSubstr("cut off or damaged"));
}

TEST_F(ClickLogFile, FingerprintsTellLogsApart) {
    const auto print = [&](const std::string& text, const ClickColumns& columns = small) {
        return ClickLog::read(file(text), columns).fingerprint();
    };
    const auto first = print("1\t1\t2\ta\tb\tc\n");
    EXPECT_EQ(first, print("1\t1\t2\tA\t0b\tc\n"));
    for (const char* other : {"0\t1\t2\ta\tb\tc\n", "1\t1\t3\ta\tb\tc\n", "1\t1\t2\ta\tb\td\n",
                              "1\t1\t2\ta\tb\t\n", "1\t1\t2\ta\tb\tc\n1\t1\t2\ta\tb\tc\n"})
        EXPECT_NE(first, print(other)) << other;
}

TEST_F(ClickLogFile, GathersSamples) {
    const auto log = ClickLog::read(file("1\t0\t1\ta\tb\tc\n0\t3\t4\td\te\tf\n"), small);
    std::vector<float> dense(6);
    std::vector<float> labels(3);
    std::vector<std::int64_t> ids(9);
    log.gather(std::vector<std::int64_t>{1, 0, 1}, dense, ids, labels);
    EXPECT_THAT(labels, ElementsAre(0, 1, 0));
    EXPECT_THAT(dense, ElementsAre(damped(3), damped(4), 0, damped(1), damped(3), damped(4)));
    EXPECT_THAT(std::vector(ids.begin() + 3, ids.begin() + 6),
                ElementsAre(category_id(0, 10), category_id(1, 11), category_id(2, 12)));
    EXPECT_THROW(log.gather(std::vector<std::int64_t>{1, 0}, dense, ids, labels), Error);
}

TEST(Damped, KeepsTheSign) {
    EXPECT_EQ(damped(0), 0);
    EXPECT_FALSE(std::signbit(damped(0)));
    EXPECT_FLOAT_EQ(damped(6), static_cast<float>(std::log(7.0)));
    EXPECT_EQ(damped(-6), -damped(6));
    EXPECT_FLOAT_EQ(damped(std::numeric_limits<std::int64_t>::min()), static_cast<float>(-63 * std::log(2)));
}

TEST(CategoryIds, AreTheFormulas) {
    EXPECT_EQ(category_id(0, 0xe220a8397b1dcdaf), 0);  // SplitMix64's first number from 0, xor itself
    EXPECT_EQ(category_id(0, 0), 5197578548964807871);
    EXPECT_EQ(category_id(1, 0), -2529857523242969672);
    EXPECT_EQ(category_id(0, 0xffffffffffffffff), -954060565643939712);
    EXPECT_EQ(category_id(25, 0x68fd1e64), 8191199115486381617);
    EXPECT_EQ(missing_id(3), 671229135577419095);
}

// Two slots share an id of categories below 2^32 only if their numbers have the same upper half.
TEST(CategoryIds, SlotsDoNotMeet) {
    std::set<std::uint64_t> uppers;
    for (std::uint64_t slot = 0; slot < max_click_columns; ++slot)
        for (const auto key : {mixed(slot), mixed(slot + (1ULL << 32))}) uppers.insert(key >> 32);
    EXPECT_EQ(uppers.size(), 2U * max_click_columns);
    std::set<std::int64_t> ids;
    for (std::int64_t slot = 0; slot < 100; ++slot) {
        ids.insert(missing_id(slot));
        for (std::uint64_t category = 0; category < 100; ++category) {
            ids.insert(category_id(slot, category));
            ids.insert(category_id(slot, ~category));
        }
    }
    EXPECT_EQ(ids.size(), 100U * 201U);
}

}  // namespace
}  // namespace dtrain
