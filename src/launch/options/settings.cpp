// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/options/settings.hpp"

#include <iterator>
#include <optional>

#include <fmt/format.h>
#include <toml++/toml.h>

#include <dtrain/error.hpp>

#include "base/files.hpp"

namespace dtrain::launch {
namespace {

std::optional<std::string> text_of(const toml::node& value) {
    if (const auto text = value.value_exact<std::string>()) return text;
    if (const auto number = value.value_exact<std::int64_t>()) return std::to_string(*number);
    if (const auto number = value.value_exact<double>()) return fmt::format("{}", *number);
    if (const auto flag = value.value_exact<bool>()) return *flag ? "true" : "false";
    return std::nullopt;
}

}  // namespace

std::vector<std::filesystem::path> settings_files(const Environment& environment) {
    std::vector<std::filesystem::path> files{"/etc/dtrain.toml"};
    const auto configured = environment.get_or("XDG_CONFIG_HOME", "");
    const auto home = environment.get_or("HOME", "");
    if (!configured.empty())
        files.push_back(std::filesystem::path(configured) / "dtrain.toml");
    else if (!home.empty())
        files.push_back(std::filesystem::path(home) / ".config" / "dtrain.toml");
    return files;
}

std::vector<Setting> parse_settings(std::string_view toml, const std::string& origin) {
    toml::table table;
    try {
        table = toml::parse(toml, origin);
    } catch (const toml::parse_error& error) {
        throw UsageError(fmt::format("{}:{}: {}", origin, error.source().begin.line, error.description()));
    }
    std::vector<Setting> out;
    for (const auto& [key, value] : table) {
        const auto text = text_of(value);
        if (!text)
            throw UsageError(fmt::format("{}:{}: {} must be a text, number or true/false", origin,
                                         value.source().begin.line, std::string_view(key.str())));
        out.push_back({.name = std::string(key.str()), .value = *text, .origin = origin});
    }
    return out;
}

std::vector<Setting> read_settings(const std::vector<std::filesystem::path>& files) {
    std::vector<Setting> out;
    for (const auto& file : files) {
        const auto content = read_file(file);
        if (!content) continue;
        auto more = parse_settings(*content, file.string());
        out.insert(out.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    }
    return out;
}

}  // namespace dtrain::launch
