// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "protocol/hang_limit.hpp"

#include <fmt/format.h>

#include "base/parse_seconds.hpp"
#include "base/text.hpp"

namespace dtrain::cluster {
namespace {

constexpr std::string_view learned = "auto";

}  // namespace

std::optional<HangLimit> parse_hang_limit(std::string_view text) {
    if (text == learned) return learned_hang_limit;
    const bool is_learned = text.starts_with(learned) && text.substr(learned.size()).starts_with(':');
    if (is_learned) text.remove_prefix(learned.size() + 1);
    const auto time = parse_seconds(std::string(text), max_hang_limit);
    if (!time || (is_learned && time->count() == 0)) return std::nullopt;
    return HangLimit{.time = *time, .is_learned = is_learned};
}

std::string to_string(const HangLimit& limit) {
    if (!limit.is_learned) return seconds_text(limit.time);
    if (limit == learned_hang_limit) return std::string(learned);
    return fmt::format("{}:{}", learned, seconds_text(limit.time));
}

std::string hang_limit_choices() {
    return fmt::format(
        "a number of seconds in 0..{}, such as 600 or 0.5, or auto, or auto:15 (learned, but at least 15 s)",
        max_hang_limit.count());
}

}  // namespace dtrain::cluster
