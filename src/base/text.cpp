// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace dtrain {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
    for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i)
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replaced});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
        }
    return cost[a.size()][b.size()];
}

struct Character {
    char32_t code = 0;
    std::size_t bytes = 0;
};

/// The UTF-8 character at the beginning of `text` (RFC 3629, section 4), or nothing.
std::optional<Character> first_character(std::string_view text) {
    const auto first = static_cast<unsigned char>(text.front());
    if (first < 0x80) return Character{first, 1};
    const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC0 || first > 0xF4 || bytes > text.size()) return std::nullopt;
    char32_t code = first & (0x7FU >> bytes);
    for (const char next : text.substr(1, bytes - 1)) {
        const auto byte = static_cast<unsigned char>(next);
        if ((byte & 0xC0) != 0x80) return std::nullopt;
        code = code << 6 | (byte & 0x3F);
    }
    constexpr char32_t min_of_length[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    if (code < min_of_length[bytes] || code > 0x10FFFF || surrogate) return std::nullopt;
    return Character{code, bytes};
}

/// Whether a character ends a line, moves a terminal's cursor or changes the direction of the text after it.
bool steers_output(char32_t code) {
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0x2028 && code <= 0x202E) ||
           (code >= 0x2066 && code <= 0x2069);
}

std::string escaped(std::string_view bytes) {
    if (bytes == "\n") return "\\n";
    if (bytes == "\r") return "\\r";
    if (bytes == "\t") return "\\t";
    std::string out;
    for (const char byte : bytes) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    return out;
}

std::string without_middle(const std::string& text, std::size_t max) {
    constexpr std::string_view gap = " ... ";
    std::size_t begin = (max - gap.size()) * 2 / 3;
    std::size_t rest = text.size() - (max - gap.size() - begin);
    while (begin > 0 && continues_character(text[begin])) --begin;
    while (rest < text.size() && continues_character(text[rest])) ++rest;
    return text.substr(0, begin).append(gap).append(text, rest);
}

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    for (std::size_t begin = 0;;) {
        const auto end = text.find(separator, begin);
        parts.emplace_back(text.substr(begin, end - begin));
        if (end == std::string_view::npos) return parts;
        begin = end + 1;
    }
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t\r\n";
    const auto first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
    std::string out;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (i != 0) out += separator;
        out += parts[i];
    }
    return out;
}

void append(std::vector<std::string>& all, const std::vector<std::string>& more) {
    all.insert(all.end(), more.begin(), more.end());
}

std::string plural(std::size_t count, std::string_view noun) {
    return fmt::format("{}{}", noun, count == 1 ? "" : "s");
}

std::string counted(std::int64_t count, std::string_view noun) {
    return fmt::format("{} {}", count, plural(static_cast<std::size_t>(count), noun));
}

std::vector<std::string> aligned(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::vector<std::string> lines;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i)
            line += i + 1 == row.size() ? row[i] : fmt::format("{:<{}}  ", row[i], widths[i]);
        lines.push_back(line);
    }
    return lines;
}

char lower_case(char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

std::string lower_case(std::string_view text) {
    std::string out(text);
    for (char& letter : out) letter = lower_case(letter);
    return out;
}

bool continues_character(char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

std::string seconds_text(std::chrono::milliseconds time) {
    return fmt::format("{}", static_cast<double>(time.count()) / 1000);
}

std::string one_line(std::string_view text, std::size_t max) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const auto character = first_character(text);
        const auto bytes = text.substr(0, character ? character->bytes : 1);
        if (character && !steers_output(character->code))
            out += bytes;
        else
            out += escaped(bytes);
        text.remove_prefix(bytes.size());
    }
    return out.size() > max ? without_middle(out, max) : out;
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> known) {
    std::optional<std::string> best;
    std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
    for (const auto& candidate : known) {
        const auto distance = edit_distance(word, candidate);
        if (distance < best_distance) {
            best = candidate;
            best_distance = distance;
        }
    }
    return best;
}

}  // namespace dtrain
