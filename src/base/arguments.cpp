// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <fmt/format.h>

#include <dtrain/arguments.hpp>
#include <dtrain/error.hpp>

#include "base/text.hpp"

namespace dtrain {
namespace {

std::string names_of(const std::map<std::string, std::string>& options) {
    std::vector<std::string> names;
    for (const auto& [name, value] : options) names.push_back(name);
    return join(names, ", ");
}

}  // namespace

Arguments::Arguments(int argc, const char* const* argv, std::map<std::string, std::string> defaults)
    : values_(std::move(defaults)) {
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (!word.starts_with("--")) {
            words_.push_back(word);
            continue;
        }
        const auto option = values_.find(word);
        if (option == values_.end())
            throw UsageError(fmt::format("{}: no such option; there are {}", word, names_of(values_)));
        if (i + 1 == argc) throw UsageError(fmt::format("{} needs a value behind it", word));
        option->second = argv[++i];
    }
}

const std::string& Arguments::text(const std::string& option) const {
    const auto found = values_.find(option);
    if (found == values_.end())
        throw Error(fmt::format("Arguments: {} is none of {}", option, names_of(values_)));
    return found->second;
}

std::int64_t Arguments::number(const std::string& option, std::int64_t min) const {
    const auto& value = text(option);
    const auto number = parse_int<std::int64_t>(value);
    if (!number) throw UsageError(fmt::format("{} {}: it takes a whole number", option, value));
    if (*number < min) throw UsageError(fmt::format("{} {}: it takes {} or more", option, value, min));
    return *number;
}

std::string Arguments::word(std::size_t index, const std::string& otherwise) const {
    return index < words_.size() ? words_[index] : otherwise;
}

}  // namespace dtrain
