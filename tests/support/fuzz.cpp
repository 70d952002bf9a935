// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "support/fuzz.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include <fmt/format.h>

#include "base/text.hpp"

namespace dtrain::tests {
namespace {

// What breaks parsers: limits of integers, other ways to write a number, bytes with a meaning somewhere.
const std::vector<std::string> awkward_numbers{"0",
                                               "-0",
                                               "-1",
                                               "00",
                                               "007",
                                               "+1",
                                               "1.5",
                                               "1e9",
                                               "0x10",
                                               "nan",
                                               "-inf",
                                               "1_000",
                                               "65535",
                                               "65536",
                                               "1000000",
                                               "999999999",
                                               "2147483647",
                                               "2147483648",
                                               "-2147483648",
                                               "4294967295",
                                               "4294967296",
                                               "9223372036854775807",
                                               "9223372036854775808",
                                               "18446744073709551616",
                                               "99999999999999999999999999",
                                               "１"};
const std::vector<std::string> awkward_bytes{std::string(1, '\0'),
                                             "\n",
                                             "\r",
                                             "\t",
                                             "\v",
                                             "\f",
                                             "\x1b[31m",
                                             "\x1e",
                                             "\x7f",
                                             "\x80",
                                             "\xff",
                                             "\xc2",
                                             "\x9b",
                                             "\xc0",
                                             "\u0085",
                                             "\u2028",
                                             "\u202e",
                                             "ö",
                                             "模",
                                             "🚀",
                                             "\ufeff",
                                             " ",
                                             "\"",
                                             "'",
                                             "\\",
                                             "%s",
                                             "{}",
                                             "$(x)",
                                             "`",
                                             ",",
                                             ";",
                                             ":",
                                             "=",
                                             "-",
                                             "--",
                                             "[",
                                             "]",
                                             "(",
                                             ")",
                                             "#",
                                             "/",
                                             "../../..",
                                             "\xed\xa0\x80",
                                             ".",
                                             "@"};

bool is_digit(char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

}  // namespace

std::string Mutator::text() {
    const auto kind = below(20);
    if (kind < 12 && !corpus_.examples.empty()) return damaged(any_of(corpus_.examples));
    if (kind < 18 && !corpus_.pieces.empty()) return sequence_of_pieces();
    return noise(below(kind == 19 ? 4000 : 40));
}

std::vector<std::string> Mutator::words() {
    return split(text(), ' ');
}

Environment Mutator::environment(const Environment& base) {
    Environment out = base;
    for (const auto& [name, value] : base) {
        if (!one_in(4)) continue;
        if (one_in(6))
            out.unset(name);
        else
            out.set(name, one_in(3) ? text() : damaged(value));
    }
    return out;
}

std::string Mutator::damaged(std::string text) {
    for (auto left = 1 + below(4); left > 0; --left) damage_once(text);
    return text;
}

std::string Mutator::sequence_of_pieces() {
    std::string out;
    const auto count = one_in(100) ? 500 : 1 + below(12);
    for (std::size_t i = 0; i < count; ++i) {
        switch (below(8)) {
            case 0:
                out += any_of(awkward_numbers);
                break;
            case 1:
                out += std::to_string(below(40));
                break;
            default:
                out += any_of(corpus_.pieces);
        }
    }
    return out;
}

std::string Mutator::noise(std::size_t length) {
    std::string out(length, '\0');
    for (char& byte : out) byte = static_cast<char>(below(256));
    return out;
}

void Mutator::damage_once(std::string& text) {
    const auto at = below(text.size() + 1);
    const auto span = std::min(text.size() - at, below(12) + 1);
    switch (below(10)) {
        case 0:
            text.insert(at, any_of(awkward_bytes));
            break;
        case 1:
            text.replace(at, span, any_of(awkward_bytes));
            break;
        case 2:
            text.erase(at, span);
            break;
        case 3:
            text.insert(at, text.substr(at, span));
            break;
        case 4:
            if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
            break;
        case 5:
            if (!corpus_.pieces.empty()) text.insert(at, any_of(corpus_.pieces));
            break;
        case 6: {
            const auto begin =
                std::find_if(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), is_digit);
            const auto end = std::find_if_not(begin, text.end(), is_digit);
            text.replace(begin, end, any_of(awkward_numbers));
            break;
        }
        case 7:
            if (!corpus_.examples.empty()) text.replace(at, std::string::npos, any_of(corpus_.examples));
            break;
        case 8:
            text.resize(at);
            break;
        default:
            if (one_in(20))
                text.insert(at, std::string(below(5000), at < text.size() ? text[at] : 'x'));
            else
                text.insert(at, 1, static_cast<char>(below(256)));
    }
}

std::uint64_t rounds() {
    static const bool stress = std::getenv("DTRAIN_STRESS") != nullptr;
    return stress ? 100'000 : 3000;
}

std::string as_literal(std::string_view text) {
    std::string out;
    for (const char c : text)
        out += c >= ' ' && c < '\x7f' && c != '"' && c != '\\'
                   ? std::string(1, c)
                   : fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    constexpr std::size_t max = 6000;
    if (out.size() > max)
        out.replace(max / 2, out.size() - max, fmt::format(" ...({} bytes)... ", text.size()));
    return '"' + out + '"';
}

std::string as_literal(const std::vector<std::string>& words) {
    std::string out;
    for (const auto& word : words) out += as_literal(word) + " ";
    return out;
}

std::string as_literal(const Environment& environment) {
    return as_literal(environment.to_strings());
}

testing::AssertionResult is_helpful(std::string_view message, const std::vector<std::string>& named) {
    constexpr std::size_t max = 2000, enough = 20;
    const auto fault = [&](const std::string& what) {
        return testing::AssertionFailure() << "the message " << as_literal(message) << " " << what;
    };
    const auto is_control = [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; };
    if (message.empty()) return fault("is empty");
    if (message.size() > max) return fault("is too long");
    if (std::any_of(message.begin(), message.end(), is_control)) return fault("has control characters");
    const auto names = [&](const std::string& name) {
        return !name.empty() &&
               message.find(one_line(name, std::string::npos).substr(0, enough)) != std::string_view::npos;
    };
    if (std::none_of(named.begin(), named.end(), names)) return fault("does not name what is wrong");
    return testing::AssertionSuccess();
}

}  // namespace dtrain::tests
