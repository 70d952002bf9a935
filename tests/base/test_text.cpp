// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: hand-worked examples.
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"

namespace dtrain {
namespace {

TEST(Text, SplitKeepsEmptyParts) {
    EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
    EXPECT_EQ(split("", ','), (std::vector<std::string>{""}));
}

TEST(Text, Trimmed) {
    EXPECT_EQ(trimmed("  a b\t\n"), "a b");
    EXPECT_EQ(trimmed(" \n"), "");
}

TEST(Text, ParseIntTakesTheWholeTextOnly) {
    EXPECT_EQ(parse_int("42"), 42);
    EXPECT_EQ(parse_int("42 "), std::nullopt);
    EXPECT_EQ(parse_int(""), std::nullopt);
    EXPECT_EQ(parse_int("99999999999"), std::nullopt);
}

TEST(Text, NearestFindsTypingMistakes) {
    const std::vector<std::string> known{"learning_rate", "batch", "epochs"};
    EXPECT_EQ(nearest("learning-rate", known), "learning_rate");
    EXPECT_EQ(nearest("bacth", known), "batch");
    EXPECT_EQ(nearest("zzzzzzzz", known), std::nullopt);
}

TEST(Text, OneLineShowsWhatSteersATerminal) {
    EXPECT_EQ(one_line("plain \\ text"), "plain \\ text");
    EXPECT_EQ(one_line("a\nb\r\tc"), "a\\nb\\r\\tc");
    EXPECT_EQ(one_line(std::string_view("\x1b[31m\0\x7f", 7)), "\\x1b[31m\\x00\\x7f");
    EXPECT_EQ(one_line("Größe 模型 🚀 \U0010FFFF"), "Größe 模型 🚀 \U0010FFFF");
    EXPECT_EQ(one_line("\u0085 \u2028 \u202e"), "\\xc2\\x85 \\xe2\\x80\\xa8 \\xe2\\x80\\xae");
}

// Table 3-7 of the Unicode standard: lone, overlong, surrogate, too high, cut short.
TEST(Text, OneLineShowsBytesThatAreNoUtf8) {
    EXPECT_EQ(one_line("\x80 \xff"), "\\x80 \\xff");
    EXPECT_EQ(one_line("\xc0\xaf"), "\\xc0\\xaf");
    EXPECT_EQ(one_line("\xe0\x80\x80"), "\\xe0\\x80\\x80");
    EXPECT_EQ(one_line("\xed\xa0\x80"), "\\xed\\xa0\\x80");
    EXPECT_EQ(one_line("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
    EXPECT_EQ(one_line("\xf8\x88\x80\x80\x80"), "\\xf8\\x88\\x80\\x80\\x80");
    EXPECT_EQ(one_line("模\xe6\xa8"), "模\\xe6\\xa8");
}

TEST(Text, OneLineLeavesOutTheMiddle) {
    EXPECT_EQ(one_line("0123456789abcdefghij", 20), "0123456789abcdefghij");
    EXPECT_EQ(one_line("0123456789abcdefghijk", 20), "0123456789 ... ghijk");
    // A character is not cut in two.
    EXPECT_EQ(one_line("öööööööööööö", 20), "ööööö ... öö");
}

TEST(Text, ErrorsAreOneLine) {
    EXPECT_STREQ(UsageError("--gpus \"0\n1\": wrong").what(), "--gpus \"0\\n1\": wrong");
    EXPECT_LE(std::string(Error(std::string(100'000, 'x')).what()).size(), 2000U);
}

TEST(ParseInt, InOtherBases) {
    EXPECT_EQ(parse_int<unsigned>("0640", 8), 0640U);
    EXPECT_EQ(parse_int<unsigned>("8", 8), std::nullopt);
    EXPECT_EQ(parse_int("10"), 10);
}

TEST(LowerCase, OfAsciiLettersOnly) {
    EXPECT_EQ(lower_case("TRUE-Ab1_Z[\xC3\x84"), "true-ab1_z[\xC3\x84");
}

TEST(Aligned, MakesColumnsAsWideAsTheirWidestCell) {
    EXPECT_EQ(aligned({{"node", "host"}, {"0", "a", "more"}, {"", "bcdef", ""}, {}}),
              (std::vector<std::string>{"node  host", "0     a      more", "      bcdef  ", ""}));
}

TEST(SecondsText, HasNoMoreDigitsThanNeeded) {
    using namespace std::chrono_literals;
    EXPECT_EQ(seconds_text(2500ms), "2.5");
    EXPECT_EQ(seconds_text(10s), "10");
    EXPECT_EQ(seconds_text(0ms), "0");
}

TEST(Text, OnlyOneIsSingular) {
    EXPECT_EQ(plural(1, "rank"), "rank");
    EXPECT_EQ(plural(0, "rank"), "ranks");
    EXPECT_EQ(plural(2, "rank"), "ranks");
}

}  // namespace
}  // namespace dtrain
