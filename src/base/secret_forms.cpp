// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/secret_forms.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace dtrain {
namespace {

bool is_letter_or_digit(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

/// Format of a service's tokens.
struct Form {
    std::string_view prefix;
    std::string_view others;  ///< characters allowed in the rest besides ASCII letters and digits
    std::size_t min = 0;      ///< minimum length of the rest
    bool mixed = false;       ///< the rest must mix upper case, lower case and digits (weak prefix)
};

constexpr std::array<Form, 20> forms{{
    {"ghp_", "", 30},           {"gho_", "", 30},         {"ghu_", "", 30},        {"ghs_", "", 30},
    {"ghr_", "", 30},           {"github_pat_", "_", 22}, {"glpat-", "_-", 20},    {"hf_", "", 20, true},
    {"api_org_", "", 20, true}, {"sk-", "_-", 20, true},  {"AKIA", "", 16},        {"ASIA", "", 16},
    {"AIza", "_-", 35},         {"ya29.", "_-", 20},      {"xoxa-", "-", 10},      {"xoxb-", "-", 10},
    {"xoxp-", "-", 10},         {"npm_", "", 36},         {"dckr_pat_", "_-", 20}, {"pypi-", "_-", 50},
}};

template <class Is>
bool has(std::string_view text, Is is) {
    return std::any_of(text.begin(), text.end(), [&](unsigned char c) { return is(c) != 0; });
}

bool is_mixed(std::string_view text) {
    return has(text, [](int c) { return std::isupper(c); }) &&
           has(text, [](int c) { return std::islower(c); }) &&
           has(text, [](int c) { return std::isdigit(c); });
}

std::size_t length_of(std::string_view text, std::string_view others) {
    const auto end = std::find_if_not(text.begin(), text.end(), [&](char c) {
        return is_letter_or_digit(c) || others.find(c) != std::string_view::npos;
    });
    return static_cast<std::size_t>(end - text.begin());
}

/// Matches two parts that begin like JSON objects in base64, and a signature.
std::size_t length_of_web_token(std::string_view text) {
    constexpr std::string_view object = "eyJ";
    constexpr std::size_t min = 10;
    std::size_t length = 0;
    for (int part = 0; part < 3; ++part) {
        const auto rest = text.substr(length);
        const auto size = length_of(rest, "_-");
        if (size < min ||
            (part < 2 && (!rest.starts_with(object) || size == rest.size() || rest[size] != '.')))
            return 0;
        length += size + (part < 2 ? 1 : 0);
    }
    return length;
}

std::size_t token_length(std::string_view text) {
    for (const auto& form : forms) {
        if (!text.starts_with(form.prefix)) continue;
        const auto rest = text.substr(form.prefix.size());
        const auto length = length_of(rest, form.others);
        if (length >= form.min && (!form.mixed || is_mixed(rest.substr(0, length))))
            return form.prefix.size() + length;
    }
    return length_of_web_token(text);
}

constexpr std::string_view dashes = "-----";

/// The length of "-----BEGIN RSA PRIVATE KEY-----" at the beginning of the text; 0 if there is none.
std::size_t boundary_length(std::string_view text, std::string_view word) {
    constexpr std::size_t max = 100;
    if (!text.starts_with(dashes) || !text.substr(dashes.size()).starts_with(word)) return 0;
    const auto line = text.substr(0, std::min(max, text.find('\n')));
    const auto end = line.find(dashes, dashes.size());
    if (end == std::string_view::npos || line.substr(0, end).find("PRIVATE KEY") == std::string_view::npos)
        return 0;
    return end + dashes.size();
}

}  // namespace

std::optional<TextSpan> token_in(std::string_view word) {
    const auto begin = std::min(word.find_first_not_of("-_."), word.size());
    const auto length = token_length(word.substr(begin));
    if (length == 0) return std::nullopt;
    return TextSpan{begin, begin + length};
}

std::optional<PrivateKeyBlock> private_key_at(std::string_view text, std::size_t at) {
    const auto first = boundary_length(text.substr(at), "BEGIN ");
    if (first == 0) return std::nullopt;
    const auto begin = at + first;
    auto end = text.find(dashes, begin);
    while (end != std::string_view::npos && !ends_private_key(text, end)) end = text.find(dashes, end + 1);
    end = std::min(end, text.size());
    return PrivateKeyBlock{.secret = {begin, end}, .end = end + boundary_length(text.substr(end), "END ")};
}

bool ends_private_key(std::string_view text, std::size_t at) {
    return boundary_length(text.substr(at), "END ") > 0;
}

std::size_t begin_of_key_lines(std::string_view text) {
    constexpr std::size_t shortest = 16;
    auto begin = text.size();
    for (;;) {
        auto before = text.substr(0, begin);
        const bool escaped = before.ends_with("\\n");
        if (escaped)
            before.remove_suffix(2);
        else if (before.ends_with('\n'))
            before.remove_suffix(1);
        auto line = before.size();
        while (line > 0 && (is_letter_or_digit(before[line - 1]) ||
                            std::string_view("+/=").find(before[line - 1]) != std::string_view::npos))
            --line;
        // The n of an escaped "\nMII..." does not belong to the key.
        if (line > 0 && before[line - 1] == '\\' && line < before.size() && before[line] == 'n') ++line;
        const bool whole = line == 0 || before[line - 1] == '\n' || before.substr(0, line).ends_with("\\n");
        const bool first = begin == text.size();  // the last line of a key may be short
        if (!whole || before.size() - line < (first ? 1 : shortest)) return begin;
        begin = line;
    }
}

}  // namespace dtrain
