// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "protocol/command.hpp"

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

std::string to_line(const Command& command) {
    switch (command.kind) {
        case Command::Kind::stop:
            return std::string(stop_line);
        case Command::Kind::leave:
            return std::string(leave_line);
        case Command::Kind::show_stacks:
            return std::string(stacks_line);
        case Command::Kind::pass_on:
            return fmt::format("{}{}", signal_word, command.signal);
        case Command::Kind::give_way:
        case Command::Kind::end:
            break;
    }
    return {};
}

std::optional<Command> parse_command(std::string_view line) {
    if (line == stop_line) return Command{.kind = Command::Kind::stop};
    if (line == leave_line) return Command{.kind = Command::Kind::leave};
    if (line == stacks_line) return Command{.kind = Command::Kind::show_stacks};
    if (!line.starts_with(signal_word)) return std::nullopt;
    const auto signal = parse_int(line.substr(signal_word.size()));
    if (!signal || *signal < 1 || *signal > highest_signal) return std::nullopt;
    return Command{.kind = Command::Kind::pass_on, .signal = *signal};
}

}  // namespace dtrain::cluster
