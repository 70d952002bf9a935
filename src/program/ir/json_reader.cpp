// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/ir/json_reader.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace dtrain::program {
namespace {

using Json = nlohmann::ordered_json;

std::string shown(const Json& value) {
    if (value.is_object()) return "an object";
    if (value.is_array()) return fmt::format("an array of {}", value.size());
    constexpr std::size_t max = 60;
    auto text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > max) text = text.substr(0, max) + "...";
    return text;
}

}  // namespace

void JsonReader::fail(std::string_view expected) const {
    throw UsageError(fmt::format("{}: {} is {}, expected {}", source_,
                                 location_.empty() ? "the text" : location_, shown(*value_), expected));
}

std::string JsonReader::text() const {
    if (!is_text()) fail("a text");
    return value_->get<std::string>();
}

std::int64_t JsonReader::whole() const {
    constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (!is_whole() || (value_->is_number_unsigned() && value_->get<std::uint64_t>() > largest))
        fail("a whole number of 64 bits");
    return value_->get<std::int64_t>();
}

double JsonReader::number() const {
    if (!is_number()) fail("a number");
    return value_->get<double>();
}

std::vector<std::int64_t> JsonReader::wholes() const {
    std::vector<std::int64_t> values;
    for (const auto& element : elements()) values.push_back(element.whole());
    return values;
}

std::vector<double> JsonReader::numbers() const {
    std::vector<double> values;
    for (const auto& element : elements()) values.push_back(element.number());
    return values;
}

std::vector<JsonReader> JsonReader::elements() const {
    if (!value_->is_array()) fail("an array");
    std::vector<JsonReader> readers;
    for (std::size_t i = 0; i < value_->size(); ++i)
        readers.emplace_back((*value_)[i], source_, fmt::format("{}[{}]", location_, i));
    return readers;
}

std::vector<std::string> JsonReader::keys() const {
    if (!is_object()) fail("an object");
    std::vector<std::string> names;
    for (const auto& item : value_->items()) names.push_back(item.key());
    return names;
}

JsonReader JsonReader::at(const std::string& key) const {
    if (!is_object()) fail("an object");
    const auto found = value_->find(key);
    if (found == value_->end()) fail(fmt::format("an object with \"{}\"", key));
    return {*found, source_, location_.empty() ? key : location_ + "." + key};
}

void JsonReader::expect_keys(std::initializer_list<std::string> needed,
                             std::initializer_list<std::string> allowed) const {
    for (const auto& key : needed) at(key);
    for (const auto& key : keys())
        if (std::ranges::find(needed, key) == needed.end() &&
            std::ranges::find(allowed, key) == allowed.end())
            at(key).fail("nothing of that name");
}

}  // namespace dtrain::program
