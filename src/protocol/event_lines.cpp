// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "protocol/event_lines.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "protocol/checked_line.hpp"

namespace dtrain::cluster {
namespace {

constexpr std::size_t longest_head = 50;  // what checked_line() and numbers of a part add
constexpr std::size_t max_piece = max_whole_line - longest_head;

/// A piece of an event's line, which begins with the checksum of the whole.
struct Part {
    int rank = 0;
    std::string_view checksum;
    int index = 0;
    int count = 0;
    std::string_view piece;
};

std::string to_content(const Part& part) {
    return fmt::format("{} {} {} {} {}", part.rank, part.checksum, part.index, part.count, part.piece);
}

std::optional<Part> parse_part(std::string_view content) {
    const auto next_word = [&] {
        const auto word = content.substr(0, content.find(' '));
        content.remove_prefix(std::min(content.size(), word.size() + 1));
        return word;
    };
    const auto rank = parse_int<int>(next_word());
    const auto checksum = next_word();
    const auto index = parse_int<int>(next_word());
    const auto count = parse_int<int>(next_word());
    if (!rank || !index || !count) return std::nullopt;
    return Part{.rank = *rank, .checksum = checksum, .index = *index, .count = *count, .piece = content};
}

}  // namespace

std::vector<std::string> lines_of(const Event& event) {
    const auto line = encode(event);
    if (line.size() < max_whole_line) return {line + "\n"};
    std::vector<std::string> lines;
    auto rest = std::string_view(line).substr(1);  // without the marker
    Part part{.rank = event.rank,
              .checksum = rest.substr(0, rest.find(' ')),
              .count = static_cast<int>((rest.size() + max_piece - 1) / max_piece)};
    for (; !rest.empty(); rest.remove_prefix(part.piece.size()), ++part.index) {
        part.piece = rest.substr(0, max_piece);
        lines.push_back(checked_line(to_content(part)) + "\n");
    }
    return lines;
}

std::optional<Event> EventReader::take(std::string_view line) {
    const auto content = content_of_checked(line);
    if (!content) return std::nullopt;
    const auto part = parse_part(*content);
    if (!part) return parse_event(*content);
    auto& whole = unfinished_[part->rank];
    if (part->index == 0) whole = {.checksum = std::string(part->checksum), .text = {event_marker}};
    const bool fits = whole.checksum == part->checksum && whole.parts == part->index;
    if (fits) whole.text += part->piece;
    if (fits && ++whole.parts < part->count) return std::nullopt;
    const auto text = std::move(whole.text);
    unfinished_.erase(part->rank);
    return fits ? decode(text) : std::nullopt;
}

}  // namespace dtrain::cluster
