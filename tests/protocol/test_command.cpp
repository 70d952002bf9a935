// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what is written is read back; lines made by hand for what is no command.
#include <csignal>

#include <gtest/gtest.h>

#include "protocol/command.hpp"

namespace dtrain::cluster {
namespace {

using Kind = Command::Kind;

TEST(Command, IsReadAsItWasWritten) {
    for (const Command command :
         {Command{.kind = Kind::stop}, Command{.kind = Kind::leave}, Command{.kind = Kind::show_stacks},
          Command{.kind = Kind::pass_on, .signal = SIGUSR1}, Command{.kind = Kind::pass_on, .signal = 64}})
        EXPECT_EQ(parse_command(to_line(command)), command) << to_line(command);
}

TEST(Command, WhatIsNone) {
    for (const char* line : {"", "stop ", " stop", "STOP", "leave\r", "signal", "signal ", "signal USR1",
                             "signal 0", "signal -9", "signal 65", "signal 10x", "\x1e", "end"})
        EXPECT_EQ(parse_command(line), std::nullopt) << line;
}

}  // namespace
}  // namespace dtrain::cluster
