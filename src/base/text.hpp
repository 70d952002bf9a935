// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dtrain {

/// The parts between separators; "a,,b" has an empty part, and "" has a single one.
std::vector<std::string> split(std::string_view text, char separator);

/// The text without surrounding blanks, tabs and line ends.
std::string_view trimmed(std::string_view text);

std::string join(std::span<const std::string> parts, std::string_view separator);

void append(std::vector<std::string>& all, const std::vector<std::string>& more);

/// "rank" for 1, "ranks" for any other count.
std::string plural(std::size_t count, std::string_view noun);

/// "1 rank", "2 ranks".
std::string counted(std::int64_t count, std::string_view noun);

/// Formats rows of cells as lines: columns as wide as their widest cell, separated by two blanks.
std::vector<std::string> aligned(const std::vector<std::vector<std::string>>& rows);

/// `text` as one line that is safe to print: control characters, other line ends and bytes that are not UTF-8
/// are escaped like \n or \x1b; if that exceeds `max` bytes, the middle is omitted.
std::string one_line(std::string_view text, std::size_t max = 2000);

/// Converts ASCII letters to lower case; other characters are unchanged.
char lower_case(char letter);
std::string lower_case(std::string_view text);

/// Whether a byte continues a UTF-8 character.
bool continues_character(char byte);

/// "2.5" for two and a half seconds, as in options.
std::string seconds_text(std::chrono::milliseconds time);

/// The whole text as a number, or nothing.
template <class Number = int>
std::optional<Number> parse_int(std::string_view text, int base = 10) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

/// The known word that the user most likely meant by `word` (Damerau-Levenshtein), or nothing if none is
/// similar.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known);

}  // namespace dtrain
