// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/job_section.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"

namespace dtrain::native {

Section::Section(const toml::table& table, std::string file, std::string name, std::vector<std::string> known)
    : table_(table), file_(std::move(file)), name_(std::move(name)), known_(std::move(known)) {
    refuse_unknown_keys();
}

std::string Section::text(std::string_view key, std::string otherwise) const {
    const auto* node = table_.get(key);
    if (node == nullptr) return otherwise;
    const auto value = node->value_exact<std::string>();
    if (!value || value->empty()) refuse(key, *node, "a text in quotes that is not empty");
    if (one_line(*value, value->size() * 4) != *value)
        refuse(key, *node, "a text without control characters");
    return *value;
}

std::string Section::one_of(std::string_view key, std::string otherwise,
                            const std::vector<std::string>& allowed) const {
    const auto* node = table_.get(key);
    if (node == nullptr) return otherwise;
    const auto value = node->value_exact<std::string>();
    for (const auto& word : allowed)
        if (value == word) return word;
    const auto near = value ? nearest(*value, allowed) : std::nullopt;
    refuse(key, *node,
           "one of \"" + join(allowed, "\", \"") + "\"" + (near ? "; did you mean \"" + *near + "\"?" : ""));
}

std::int64_t Section::whole(std::string_view key, std::int64_t otherwise, std::int64_t min,
                            std::int64_t max) const {
    const auto* node = table_.get(key);
    if (node == nullptr) return otherwise;
    return whole_of(key, *node, min, max);
}

std::string Section::whole_or_text(std::string_view key, std::int64_t min, std::int64_t max) const {
    const auto& node = *table_.get(key);
    return node.is_string() ? text(key, "") : std::to_string(whole_of(key, node, min, max));
}

std::vector<std::int64_t> Section::wholes(std::string_view key, std::vector<std::int64_t> otherwise,
                                          std::int64_t min, std::int64_t max) const {
    const auto* node = table_.get(key);
    if (node == nullptr) return otherwise;
    const auto* list = node->as_array();
    if (list == nullptr)
        refuse(key, *node, fmt::format("a list of whole numbers such as [128, 64], or [] for none"));
    std::vector<std::int64_t> out;
    for (const auto& element : *list) out.push_back(whole_of(key, element, min, max));
    return out;
}

bool Section::truth(std::string_view key, bool otherwise) const {
    const auto* node = table_.get(key);
    if (node == nullptr) return otherwise;
    const auto value = node->value_exact<bool>();
    if (!value) refuse(key, *node, "true or false");
    return *value;
}

double Section::number(std::string_view key, double otherwise, const Range& range) const {
    const auto* node = table_.get(key);
    if (node == nullptr) return otherwise;
    return number_of(key, *node, range);
}

std::vector<double> Section::numbers(std::string_view key, std::vector<double> otherwise,
                                     const Range& range) const {
    const auto* node = table_.get(key);
    if (node == nullptr) return otherwise;
    const auto* list = node->as_array();
    if (list == nullptr) refuse(key, *node, "a list of numbers such as [0.1, 0.01]");
    std::vector<double> out;
    for (const auto& element : *list) out.push_back(number_of(key, element, range));
    return out;
}

double Section::number_of(std::string_view key, const toml::node& node, const Range& range) const {
    const auto value = node.is_number() ? node.value<double>() : std::nullopt;
    if (!value || !(*value >= range.min && *value < range.below)) refuse(key, node, range.allowed);
    return *value;
}

std::int64_t Section::bytes(std::string_view key, std::int64_t otherwise) const {
    constexpr const char* allowed = "a number of bytes, or a text such as \"500MiB\" or \"2GiB\"";
    const auto* node = table_.get(key);
    if (node == nullptr) return otherwise;
    if (node->is_integer()) return whole_of(key, *node, 1, max_whole);
    const auto text = node->value_exact<std::string>().value_or("");
    const auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const auto count = parse_int<std::int64_t>(text.substr(0, digits)).value_or(0);
    const auto unit = std::string(trimmed(std::string_view(text).substr(digits)));
    static const std::map<std::string, std::int64_t> units = {{"B", 1},
                                                              {"kB", 1000},
                                                              {"MB", 1000'000},
                                                              {"GB", 1000'000'000},
                                                              {"TB", 1000'000'000'000},
                                                              {"KiB", 1 << 10},
                                                              {"MiB", 1 << 20},
                                                              {"GiB", 1 << 30},
                                                              {"TiB", std::int64_t{1} << 40}};
    const auto found = units.find(unit);
    if (count < 1 || found == units.end() || count > max_whole / found->second) refuse(key, *node, allowed);
    return count * found->second;
}

std::string Section::column(std::string_view key) const {
    return column_of(key, *table_.get(key));
}

std::vector<std::string> Section::columns(std::string_view key) const {
    const auto& node = *table_.get(key);
    const auto* list = node.as_array();
    if (list == nullptr) refuse(key, node, "a list of columns such as [\"age\", \"price\"] or [2, 3]");
    std::vector<std::string> out;
    for (const auto& element : *list) out.push_back(column_of(key, element));
    return out;
}

std::string Section::column_of(std::string_view key, const toml::node& node) const {
    const auto name = node.value_exact<std::string>();
    const auto number = node.value_exact<std::int64_t>();
    const bool is_name = name && !name->empty() && one_line(*name, name->size() * 4) == *name;
    if (!is_name && number.value_or(0) < 1) refuse(key, node, "a column's name, or its number from 1");
    return is_name ? *name : std::to_string(*number);
}

char Section::separator(std::string_view key, char otherwise) const {
    if (!has(key)) return otherwise;
    const auto said = text(key, "");
    if (said == "tab") return '\t';
    if (said.size() != 1 || said == "\"")
        fail(key, fmt::format("'{}' is one character but no quote, or \"tab\"", key));
    return said.front();
}

bool Section::is_list(std::string_view key) const {
    const auto* node = table_.get(key);
    return node != nullptr && node->is_array();
}

bool Section::is_table_with(std::string_view key, std::string_view inner) const {
    const auto* node = table_.get(key);
    return node != nullptr && node->is_table() && node->as_table()->contains(inner);
}

std::map<std::string, std::string> Section::words(std::string_view key) const {
    std::map<std::string, std::string> out;
    const auto* node = table_.get(key);
    if (node == nullptr) return out;
    constexpr const char* allowed = "a table of texts and whole numbers, such as { striping_factor = 8 }";
    if (!node->is_table()) refuse(key, *node, allowed);
    for (const auto& [name, value] : *node->as_table()) {
        const auto text = value.value_exact<std::string>();
        const auto number = value.value_exact<std::int64_t>();
        if (!text && !number) refuse(key, *node, allowed);
        out[std::string(name.str())] = text ? *text : std::to_string(*number);
    }
    return out;
}

std::optional<Device> Section::device(std::string_view key) const {
    if (!has(key)) return std::nullopt;
    const auto said = text(key, "");
    try {
        return device_of(said, "it");
    } catch (const UsageError&) {
        fail(key, fmt::format("[{}] {} = \"{}\": it must be \"cpu\", \"gpu\" or a GPU's number such as "
                              "\"gpu:0\"",
                              name_, key, said));
    }
}

Section Section::section(std::string_view key, std::vector<std::string> known) const {
    static const toml::table empty;
    const auto* node = table_.get(key);
    if (node != nullptr && !node->is_table()) refuse(key, *node, "a table");
    const auto inner = name_.empty() ? std::string(key) : fmt::format("{}.{}", name_, key);
    return {node == nullptr ? empty : *node->as_table(), file_, inner, std::move(known)};
}

void Section::fail(std::string_view key, const std::string& what) const {
    const auto* node = table_.get(key);
    const auto line = node != nullptr ? node->source().begin.line : table_.source().begin.line;
    throw UsageError(line == 0 ? fmt::format("{}: {}", file_, what)
                               : fmt::format("{}:{}: {}", file_, line, what));
}

void Section::refuse_unknown_keys() const {
    const toml::key* first = nullptr;
    for (const auto& [key, value] : table_) {
        bool is_known = false;
        for (const auto& word : known_) is_known = is_known || word == key.str();
        if (!is_known && (first == nullptr || key.source().begin.line < first->source().begin.line))
            first = &key;
    }
    if (first == nullptr) return;
    const auto near = nearest(first->str(), known_);
    const auto where = name_.empty() ? std::string("at the top") : "in [" + name_ + "]";
    throw UsageError(fmt::format("{}:{}: unknown key '{}' {}; {}", file_, first->source().begin.line,
                                 first->str(), where,
                                 near ? "did you mean '" + *near + "'?" : "known are " + join(known_, ", ")));
}

std::int64_t Section::whole_of(std::string_view key, const toml::node& node, std::int64_t min,
                               std::int64_t max) const {
    const auto value = node.value_exact<std::int64_t>();
    if (!value || *value < min || *value > max)
        refuse(key, node,
               max == max_whole ? fmt::format("a whole number, {} or more", min)
                                : fmt::format("a whole number in {}..{}", min, max));
    return *value;
}

void Section::refuse(std::string_view key, const toml::node& node, const std::string& allowed) const {
    std::ostringstream value;
    value << toml::toml_formatter(node, toml::format_flags::none);
    auto text = value.str();
    for (auto& letter : text)
        if (letter == '\n') letter = ' ';
    throw UsageError(fmt::format("{}:{}: {}{} = {}: it must be {}", file_, node.source().begin.line,
                                 name_.empty() ? "" : "[" + name_ + "] ", key, text, allowed));
}

}  // namespace dtrain::native
