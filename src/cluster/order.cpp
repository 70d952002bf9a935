// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "cluster/order.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace dtrain::cluster {
namespace {

constexpr std::string_view stop_line = "stop";
constexpr std::string_view leave_line = "leave";
constexpr std::string_view stacks_line = "stacks";
constexpr std::string_view signal_word = "signal ";
constexpr int highest_signal = 64;

}  // namespace

std::string to_line(const Order& order) {
    switch (order.kind) {
        case Order::Kind::stop:
            return std::string(stop_line);
        case Order::Kind::leave:
            return std::string(leave_line);
        case Order::Kind::show_stacks:
            return std::string(stacks_line);
        case Order::Kind::pass_on:
            return fmt::format("{}{}", signal_word, order.signal);
        case Order::Kind::give_way:
        case Order::Kind::end:
            break;
    }
    return {};
}

std::optional<Order> parse_order(std::string_view line) {
    if (line == stop_line) return Order{.kind = Order::Kind::stop};
    if (line == leave_line) return Order{.kind = Order::Kind::leave};
    if (line == stacks_line) return Order{.kind = Order::Kind::show_stacks};
    if (!line.starts_with(signal_word)) return std::nullopt;
    const auto signal = parse_int(line.substr(signal_word.size()));
    if (!signal || *signal < 1 || *signal > highest_signal) return std::nullopt;
    return Order{.kind = Order::Kind::pass_on, .signal = *signal};
}

}  // namespace dtrain::cluster
