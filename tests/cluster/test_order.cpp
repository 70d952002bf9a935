// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what is written is read back; lines made by hand for what is no order.
#include <csignal>

#include <gtest/gtest.h>

#include "cluster/order.hpp"

namespace dtrain::cluster {
namespace {

using Kind = Order::Kind;

TEST(Order, IsReadAsItWasWritten) {
    for (const Order order :
         {Order{.kind = Kind::stop}, Order{.kind = Kind::leave}, Order{.kind = Kind::show_stacks},
          Order{.kind = Kind::pass_on, .signal = SIGUSR1}, Order{.kind = Kind::pass_on, .signal = 64}})
        EXPECT_EQ(parse_order(to_line(order)), order) << to_line(order);
}

TEST(Order, WhatIsNone) {
    for (const char* line : {"", "stop ", " stop", "STOP", "leave\r", "signal", "signal ", "signal USR1",
                             "signal 0", "signal -9", "signal 65", "signal 10x", "\x1e", "end"})
        EXPECT_EQ(parse_order(line), std::nullopt) << line;
}

}  // namespace
}  // namespace dtrain::cluster
