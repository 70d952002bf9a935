// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what must hold of any click log, checked on seeded inputs: a text is refused with its location or
// has as many values as its lines say; a log that the test writes down comes back, whatever its 64 bits are.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <dtrain/click_log.hpp>
#include <dtrain/error.hpp>

#include "support/fuzz.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain {
namespace {

using tests::Mutator;

constexpr ClickColumns columns{2, 3};

class ClickLogProperties : public testing::Test {
  protected:
    ClickLog read(const std::string& text, const ClickLayout& layout = columns) const {
        tests::write_bytes(folder / "c.tsv", text);
        return ClickLog::read(folder / "c.tsv", layout);
    }
    /// Each text in one of the layouts.
    void check_any_text(const tests::Corpus& corpus, const std::vector<ClickLayout>& layouts) const {
        tests::for_all(corpus, &Mutator::text, [&](const std::string& input) {
            try {
                const auto log = read(input, layouts[input.size() % layouts.size()]);
                ASSERT_GE(log.size(), 1);
                EXPECT_EQ(log.dense.size(), log.labels.size() * static_cast<std::size_t>(log.integers));
                EXPECT_EQ(log.ids.size(), log.labels.size() * static_cast<std::size_t>(log.slots));
                EXPECT_GE(log.slots, 1);
            } catch (const UsageError& error) {
                EXPECT_TRUE(tests::is_helpful(error.what(), {"c.tsv:"}));
            }
        });
    }

    const tests::TemporaryFolder folder;
};

TEST_F(ClickLogProperties, AnyTextIsRefusedWithItsLocationOrReadToItsEnd) {
    const tests::Corpus corpus{
        .examples =
            {"1\t1\t2\ta\tb\tc\n", "0\t\t-3\tffffffffffffffff\t\t68fd1e64\r\n1\t\t\t\t\t\n",
             "0\t9223372036854775807\t-9223372036854775808\t8000000000000000\t0\t0\n\n1\t0\t0\t1\t2\t3"},
        .pieces = {"1", "0", "\t", "\t", "\t", "\n", "\r\n", "ff", "1\t1\t2\ta\tb\tc\n", "\t\t\t\t\t", "-"}};
    tests::for_all(corpus, &Mutator::text, [&](const std::string& input) {
        try {
            const auto log = read(input);
            ASSERT_GE(log.size(), 1);
            EXPECT_EQ(log.dense.size(), log.labels.size() * 2);
            EXPECT_EQ(log.ids.size(), log.labels.size() * 3);
        } catch (const UsageError& error) {
            EXPECT_TRUE(tests::is_helpful(error.what(), {"c.tsv:"}));
        }
    });
}

TEST_F(ClickLogProperties, AnyCsvIsRefusedWithItsLocationOrReadToItsEnd) {
    const tests::Corpus corpus{
        .examples = {"click,age,site\n1,2,a\n0,,\n", "1,2.5,\"a, \"\"b\"\"\"\r\n0,-1e3, x \n",
                     "id,label,age,ad\n7,0,3,b\n8,1,,\n"},
        .pieces = {"1", "0", ",", ",", "\n", "\r\n", "\"", "\"\"", " ", "label", "click", "age",
                   "label,age,a\n", "1,2,b\n", "1e999", "nan"}};
    check_any_text(corpus, {CsvClickColumns{}, CsvClickColumns{.numbers = {{"age"}}},
                            CsvClickColumns{.label = "1", .numbers = {{"2"}}}});
}

TEST_F(ClickLogProperties, AnySvmlightIsRefusedWithItsLocationOrReadToItsEnd) {
    const tests::Corpus corpus{
        .examples = {"1 1:5 10:1 100:1\n-1 2:0.5 17:1 300:1 # c\n",
                     "+1 10:1 9223372036854775807:1\n0 10:1 11:1\n", "0 qid:1 20:1 200:1\n"},
        .pieces = {"1", "-1", "0", " ", " ", ":", "\n", "#", "qid:", "10:1", "100:1", "1:2.5",
                   "1 10:1 100:1\n"}};
    check_any_text(corpus, {SvmlightClickColumns{}, SvmlightClickColumns{.numbers = 2},
                            SvmlightClickColumns{.numbers = 2, .slot_ids = {10, 100}}});
}

/// A log as text and as what reading it must give.
struct Written {
    std::string text;
    ClickLog log;
};

std::uint64_t any_bits(Mutator& mutator) {
    if (mutator.one_in(8)) return std::uint64_t{1} << mutator.below(64);
    if (mutator.one_in(8)) return ~std::uint64_t{0} >> mutator.below(64);
    return (std::uint64_t{mutator.below(std::size_t{1} << 32)} << 32) | mutator.below(std::size_t{1} << 32);
}

void add_sample(Mutator& mutator, Written& written) {
    written.log.labels.push_back(mutator.one_in(2) ? 1.0F : 0.0F);
    written.text += written.log.labels.back() > 0 ? "1" : "0";
    for (std::int64_t i = 0; i < columns.integers; ++i) {
        const auto count = mutator.one_in(4) ? std::int64_t{0} : static_cast<std::int64_t>(any_bits(mutator));
        written.log.dense.push_back(damped(count));
        written.text += count == 0 ? "\t" : fmt::format("\t{}", count);
    }
    for (std::int64_t slot = 0; slot < columns.slots; ++slot) {
        const auto category = any_bits(mutator);
        const bool is_missing = mutator.one_in(4);
        written.log.ids.push_back(is_missing ? missing_id(slot) : category_id(slot, category));
        written.text += is_missing          ? "\t"
                        : mutator.one_in(2) ? fmt::format("\t{:x}", category)
                                            : fmt::format("\t{:016X}", category);
    }
    written.text += mutator.one_in(2) ? "\r\n" : "\n";
}

TEST_F(ClickLogProperties, WhatIsWrittenComesBack) {
    const tests::Corpus none;
    for (std::uint64_t seed = 0; seed < tests::rounds(); ++seed) {
        Mutator mutator(none, seed);
        Written written{{}, {.integers = columns.integers, .slots = columns.slots}};
        for (auto left = 1 + mutator.below(5); left > 0; --left) add_sample(mutator, written);
        ASSERT_EQ(read(written.text), written.log) << "seed " << seed << "\n" << written.text;
    }
}

}  // namespace
}  // namespace dtrain
