// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dtrain {

/// The parts between separators; "a,,b" has an empty part, "" has one.
std::vector<std::string> split(std::string_view text, char separator);

/// Text without the blanks, tabs and line ends around it.
std::string_view trimmed(std::string_view text);

std::string join(std::span<const std::string> parts, std::string_view separator);

/// `text` as one line that is safe to print: control characters, other line ends and bytes that are no UTF-8
/// are written like \n or \x1b; where that makes more than `most` bytes, the middle is left out.
std::string one_line(std::string_view text, std::size_t most = 2000);

/// The whole text as a number, or nothing.
template <class Number = int>
std::optional<Number> parse_int(std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

/// The known word that somebody who typed `word` most likely meant (Damerau-Levenshtein), or nothing when
/// none is near.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known);

}  // namespace dtrain
