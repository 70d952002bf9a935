// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

/// Values as JSON on one line, and back. Rooms that include this depend on nlohmann-json.
namespace dtrain {

/// Names and messages may hold bytes that are no UTF-8: those become U+FFFD.
inline std::string dumped(const nlohmann::json& json) {
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Appends a text as a JSON string. Most names and messages need no escapes: those cost no tree of JSON.
inline void append_json_string(std::string& out, std::string_view text) {
    const bool is_plain = std::ranges::all_of(
        text, [](char letter) { return letter >= ' ' && letter < 0x7f && letter != '"' && letter != '\\'; });
    if (is_plain)
        out.append(1, '"').append(text).append(1, '"');
    else
        out += dumped(text);
}

/// What `read` makes of a JSON text, or nothing when it is none, or of another kind.
template <class Read>
auto read_json(std::string_view text, const Read& read) -> std::optional<decltype(read(nlohmann::json()))> {
    try {
        return read(nlohmann::json::parse(text));
    } catch (const nlohmann::json::exception&) {
        return std::nullopt;
    }
}

}  // namespace dtrain
