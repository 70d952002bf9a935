// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: rules of POSIX (Shell Command Language, 2.2 Quoting), and the shell itself, which prints what it
// made of texts that hold none of the characters that only we take literally.
#include <cstdlib>
#include <filesystem>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "base/files.hpp"
#include "base/shell_args.hpp"
#include "base/subprocess.hpp"

namespace dtrain {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::ThrowsMessage;

TEST(ShellArgs, BlanksSeparate) {
    EXPECT_THAT(shell_args(""), IsEmpty());
    EXPECT_THAT(shell_args(" \t\n"), IsEmpty());
    EXPECT_THAT(shell_args("  perf   record\t-g \n"), ElementsAre("perf", "record", "-g"));
}

TEST(ShellArgs, QuotesKeepTogether) {
    EXPECT_THAT(shell_args(R"(gdb -ex 'run -x' --args)"), ElementsAre("gdb", "-ex", "run -x", "--args"));
    EXPECT_THAT(shell_args(R"(a"b c"'d e'f '' "")"), ElementsAre("ab cd ef", "", ""));
    EXPECT_THAT(shell_args(R"('a\b"c' "d'e")"), ElementsAre(R"(a\b"c)", "d'e"));
}

TEST(ShellArgs, BackslashesQuoteOneCharacter) {
    EXPECT_THAT(shell_args(R"(a\ b \'c \\ \n)"), ElementsAre("a b", "'c", "\\", "n"));
    EXPECT_THAT(shell_args(R"("\$\"\\\`\a")"), ElementsAre(R"($"\`\a)"));
    EXPECT_THAT(shell_args("one\\\nword \"and\\\nanother\""), ElementsAre("oneword", "andanother"));
}

TEST(ShellArgs, ALineIsTheSameWordsAgain) {
    const std::vector<std::string> args{"a", "", "two args", "it's", "\"x\"", "$HOME;", "\\"};
    EXPECT_EQ(shell_line({"a", "", "two args"}), "a '' 'two args'");
    EXPECT_EQ(shell_args(shell_line(args)), args);
}

TEST(ShellArgs, NothingIsExpanded) {
    EXPECT_THAT(shell_args("$HOME ~ * a;b | #c"), ElementsAre("$HOME", "~", "*", "a;b", "|", "#c"));
}

TEST(ShellArgs, WhatIsNotClosedIsRefused) {
    for (const auto* text : {"'a", "a \"b", "'a\"", "\"a\\\"", "a\\"})
        EXPECT_THAT([&] { shell_args(text); },
                    ThrowsMessage<UsageError>(AllOf(HasSubstr(text), Not(HasSubstr("\n")))))
            << text;
}

TEST(ShellArgs, TheShellAgrees) {
    constexpr std::string_view letters = "ab \t'\"\\%-";
    std::mt19937 random(42);
    int compared = 0;
    std::string script;
    std::string expected;
    for (int round = 0; round < 20'000; ++round) {
        std::string text;
        for (auto length = random() % 12; length > 0; --length) text += letters[random() % letters.size()];
        std::vector<std::string> args;
        try {
            args = shell_args(text);
        } catch (const UsageError&) {
            continue;
        }
        ++compared;
        script += "set -- " + text + "\nprintf '<%s>' \"$@\"; echo\n";
        for (const auto& arg : args) expected += "<" + arg + ">";
        expected += args.empty() ? "<>\n" : "\n";
    }
    EXPECT_GT(compared, 5'000);
    auto name = (std::filesystem::temp_directory_path() / "dtrain-test.XXXXXX").string();
    const FileDescriptor file(::mkstemp(name.data()));
    ASSERT_TRUE(write_all(file.get(), script));
    const auto shell = run_and_capture({.argv = {"sh", name}}, 60s);
    std::filesystem::remove(name);
    EXPECT_EQ(shell.err, "");
    EXPECT_EQ(shell.out, expected);
}

TEST(ShellQuoted, IsReadBackAsOneWord) {
    EXPECT_EQ(shell_quoted("--lr=0.1,a/b:c@d%e+f"), "--lr=0.1,a/b:c@d%e+f");
    EXPECT_EQ(shell_quoted("it's $HOME"), "'it'\\''s $HOME'");
    for (const char* arg : {"", " ", "a b", "'", "\"", "\\", "$x;`y`", "a\nb", "*"})
        EXPECT_EQ(shell_args(shell_quoted(arg)), std::vector<std::string>{arg}) << arg;
}

}  // namespace
}  // namespace dtrain
