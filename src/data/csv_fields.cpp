// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "data/csv_fields.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "base/text.hpp"
#include "data/read_dataset.hpp"

namespace dtrain::data {
namespace {

/// Also true for a number that is too large for its type.
bool is_in_form_of_number(std::string_view text) {
    if (text.starts_with('+')) text.remove_prefix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error != std::errc::invalid_argument && end == text.data() + text.size();
}

}  // namespace

std::span<const std::string_view> CsvFields::of(const InputFile& file, std::string_view line) {
    fields_.clear();
    unescaped_.clear();
    for (auto rest = line;;) {
        if (const auto field = without_blanks_ahead(rest); field.starts_with('"')) {
            rest = field;
            fields_.push_back(quoted(file, rest));
        } else {
            const auto end = std::min(rest.find(separator_), rest.size());
            fields_.push_back(trimmed(rest.substr(0, end)));
            rest.remove_prefix(end);
        }
        if (rest.empty()) return fields_;
        rest.remove_prefix(1);
    }
}

std::string_view CsvFields::quoted(const InputFile& file, std::string_view& rest) {
    const auto refuse = [&](const char* what) {
        file.refuse_line(fmt::format("column {}: {}: {}", fields_.size() + 1, one_line(rest, 40), what));
    };
    auto end = rest.find('"', 1);
    bool has_quotes = false;
    while (end != std::string_view::npos && rest.substr(end + 1).starts_with('"')) {
        has_quotes = true;
        end = rest.find('"', end + 2);
    }
    if (end == std::string_view::npos) refuse("the quotes do not end in this line");
    auto field = rest.substr(1, end - 1);
    if (has_quotes) {
        auto& text = unescaped_.emplace_back();
        for (std::size_t i = 0; i < field.size(); ++i) {
            text += field[i];
            if (field[i] == '"') ++i;
        }
        field = text;
    }
    const auto behind = without_blanks_ahead(rest.substr(end + 1));
    if (!behind.empty() && behind.front() != separator_) refuse("a text goes on behind its quotes");
    rest = behind;
    return field;
}

std::string_view CsvFields::without_blanks_ahead(std::string_view text) const {
    const auto is_blank = [&](char c) { return (c == ' ' || c == '\t') && c != separator_; };
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    return text;
}

bool is_meant_as_number(std::string_view text) {
    text = trimmed(text);
    const auto word = lower_case(std::string(text));
    constexpr std::array<std::string_view, 9> missing = {"",     "na",  "n/a", "nan", "null",
                                                         "none", "nil", "?",   "-"};
    if (std::ranges::find(missing, word) != missing.end() || parse_number(text)) return true;
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    if (text.starts_with('.') || text.starts_with(',')) text.remove_prefix(1);
    return !text.empty() && text.front() >= '0' && text.front() <= '9';
}

FirstLine kind_of_first_line(std::span<const std::string_view> fields) {
    if (std::ranges::all_of(fields, is_in_form_of_number)) return FirstLine::numbers;
    if (std::ranges::all_of(
            fields, [](std::string_view text) { return text.empty() || !is_meant_as_number(text); }) &&
        !std::ranges::all_of(fields, &std::string_view::empty))
        return FirstLine::names;
    return FirstLine::unclear;
}

std::string_view without_byte_order_mark(std::string_view text) {
    constexpr std::string_view mark = "\xef\xbb\xbf";
    if (text.starts_with(mark)) text.remove_prefix(mark.size());
    return text;
}

}  // namespace dtrain::data
