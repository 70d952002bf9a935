// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what the command line says, word by word.
#include <vector>

#include <gtest/gtest.h>

#include <dtrain/arguments.hpp>
#include <dtrain/error.hpp>

#include "support/message_of.hpp"

namespace dtrain {
namespace {

using tests::message_of;

Arguments of(std::vector<const char*> words) {
    words.insert(words.begin(), "program");
    return {static_cast<int>(words.size()), words.data(), {{"--epochs", "10"}, {"--save", ""}}};
}

TEST(Arguments, OptionsHaveTheirDefaults) {
    const auto arguments = of({});
    EXPECT_EQ(arguments.number("--epochs"), 10);
    EXPECT_EQ(arguments.text("--save"), "");
    EXPECT_EQ(arguments.word(0, "folder"), "folder");
}

TEST(Arguments, OptionsAndWordsMayAlternate) {
    const auto arguments = of({"one", "--save", "--file", "two", "--epochs", "3", "-x"});
    EXPECT_EQ(arguments.number("--epochs"), 3);
    EXPECT_EQ(arguments.text("--save"), "--file") << "whatever stands behind an option is its value";
    EXPECT_EQ(arguments.word(0, ""), "one");
    EXPECT_EQ(arguments.word(1, ""), "two");
    EXPECT_EQ(arguments.word(2, ""), "-x");
    EXPECT_EQ(arguments.word(3, "none"), "none");
}

TEST(Arguments, TheLastOneCounts) {
    EXPECT_EQ(of({"--epochs", "1", "--epochs", "2"}).number("--epochs"), 2);
}

TEST(Arguments, WhatIsWrongIsNamed) {
    EXPECT_EQ(message_of<UsageError>([] {
                  of({"--epoch", "3"});
              }),
              "--epoch: no such option; there are --epochs, --save");
    EXPECT_EQ(message_of<UsageError>([] { of({"--epochs"}); }), "--epochs needs a value behind it");
    for (const char* const text : {"3x", "", "1.5", "99999999999999999999"})
        EXPECT_EQ(message_of<UsageError>([&] {
                      (void)of({"--epochs", text}).number("--epochs");
                  }),
                  std::string("--epochs ") + text + ": it takes a whole number");
    EXPECT_EQ(message_of<UsageError>([] {
                  (void)of({"--epochs", "0"}).number("--epochs", 1);
              }),
              "--epochs 0: it takes 1 or more");
    EXPECT_EQ(message_of<UsageError>([] {
                  (void)of({"--epochs", "-1"}).number("--epochs");
              }),
              "--epochs -1: it takes 0 or more");
    EXPECT_EQ(message_of<Error>([] { (void)of({}).text("--every"); }),
              "Arguments: --every is none of --epochs, --save");
}

}  // namespace
}  // namespace dtrain
