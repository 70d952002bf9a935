// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/environment.hpp>
#include <dtrain/error.hpp>

#include "base/text.hpp"

namespace dtrain {

Environment Environment::of_this_process() {
    Environment out;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text(*entry);
        const auto equals = text.find('=');
        if (equals != std::string_view::npos && equals != 0)
            out.set(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
    }
    return out;
}

std::optional<std::string> Environment::get(std::string_view name) const {
    const auto found = variables_.find(name);
    if (found == variables_.end()) return std::nullopt;
    return found->second;
}

std::string Environment::get_or(std::string_view name, std::string_view otherwise) const {
    return get(name).value_or(std::string(otherwise));
}

bool Environment::has(std::string_view name) const {
    return variables_.contains(name);
}

std::optional<int> Environment::get_int(std::string_view name, int min) const {
    const auto text = get(name);
    if (!text || trimmed(*text).empty()) return std::nullopt;
    const auto value = parse_int(trimmed(*text));
    if (!value || *value < min)
        throw UsageError(
            fmt::format("{}={} in the environment is no whole number of at least {}; correct or unset it",
                        name, *text, min));
    return value;
}

void Environment::set(std::string name, std::string value) {
    variables_.insert_or_assign(std::move(name), std::move(value));
}

void Environment::set_all(const Environment& others) {
    for (const auto& [name, value] : others) set(name, value);
}

void Environment::unset(std::string_view name) {
    if (const auto found = variables_.find(name); found != variables_.end()) variables_.erase(found);
}

std::vector<std::string> Environment::to_strings() const {
    std::vector<std::string> out;
    out.reserve(variables_.size());
    for (const auto& [name, value] : variables_) out.push_back(fmt::format("{}={}", name, value));
    return out;
}

}  // namespace dtrain
