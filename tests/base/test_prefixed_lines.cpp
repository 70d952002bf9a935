// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the rules of the header, worked out by hand; and that taking the prefixes away gives the input
// back.
#include <random>

#include <gtest/gtest.h>

#include "base/prefixed_lines.hpp"

namespace dtrain {
namespace {

struct Case {
    const char* bytes;
    bool complete;
    const char* text;
    std::size_t taken;
};

TEST(PrefixedLines, WholeLinesOnly) {
    for (const auto& each : {Case{"one\ntwo\nthr", false, "[3] one\n[3] two\n", 8},
                             Case{"one\ntwo\nthr", true, "[3] one\n[3] two\n[3] thr\n", 11},
                             Case{"one", false, "", 0}, Case{"\n\n", false, "[3] \n[3] \n", 2},
                             Case{"", true, "", 0}, Case{"a\r\n", false, "[3] a\r\n", 3}}) {
        const auto lines = prefixed_lines(each.bytes, "[3] ", 100, each.complete);
        EXPECT_EQ(lines.text, each.text) << each.bytes;
        EXPECT_EQ(lines.taken, each.taken) << each.bytes;
    }
}

TEST(PrefixedLines, ALongLineBecomesSeveral) {
    // 12 bytes hold the prefix, 7 bytes of a line and its end.
    EXPECT_EQ(prefixed_lines("0123456789\n", "[3] ", 12, false).text, "[3] 0123456\n");
    EXPECT_EQ(prefixed_lines("789\n", "[3] ", 12, false).text, "[3] 789\n");
    EXPECT_EQ(prefixed_lines("0123456\n", "[3] ", 12, false).text, "[3] 0123456\n");
    EXPECT_EQ(prefixed_lines("0123456\n", "[3] ", 12, false).taken, 8U);
    EXPECT_EQ(prefixed_lines("012345", "[3] ", 12, false).text, "");
    EXPECT_EQ(prefixed_lines("a\nb\n", "[3] ", 12, false).text, "[3] a\n[3] b\n") << "exactly what fits";
    EXPECT_EQ(prefixed_lines("a\nbc\n", "[3] ", 12, false).text, "[3] a\n");
}

TEST(PrefixedLines, PiecesMakeUpTheInput) {
    std::mt19937 random(7);
    for (int round = 0; round < 300; ++round) {
        std::string input;
        for (auto lines = random() % 30; lines > 0; --lines) input += std::string(random() % 90, 'a') + "\n";
        const std::size_t limit = 32 + random() % 64;
        std::string without_prefix;
        for (std::size_t at = 0; at < input.size();) {
            const auto piece =
                prefixed_lines(std::string_view(input).substr(at, limit), "[12] ", limit, false);
            ASSERT_GT(piece.taken, 0U);
            ASSERT_LE(piece.text.size(), limit);
            ASSERT_EQ(piece.text.back(), '\n');
            for (std::size_t begin = 0; begin < piece.text.size();) {
                const auto end = piece.text.find('\n', begin);
                ASSERT_EQ(piece.text.substr(begin, 5), "[12] ");
                without_prefix += piece.text.substr(begin + 5, end - begin - 5);
                begin = end + 1;
            }
            at += piece.taken;
        }
        std::erase(input, '\n');
        ASSERT_EQ(without_prefix, input);
    }
}

}  // namespace
}  // namespace dtrain
