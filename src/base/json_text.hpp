// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

/// Converts values to JSON on one line, and back. Rooms that include this depend on nlohmann-json.
namespace dtrain {

/// Names and messages may contain bytes that are not UTF-8: these become U+FFFD.
inline std::string dumped(const nlohmann::json& json) {
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Appends a text as a JSON string. Most names and messages need no escapes, and are then appended without
/// building a JSON tree.
inline void append_json_string(std::string& out, std::string_view text) {
    const bool is_plain = std::ranges::all_of(
        text, [](char letter) { return letter >= ' ' && letter < 0x7f && letter != '"' && letter != '\\'; });
    if (is_plain)
        out.append(1, '"').append(text).append(1, '"');
    else
        out += dumped(text);
}

/// The result of `read` for a JSON text; nothing if the text is not JSON, or of another structure.
template <class Read>
auto read_json(std::string_view text, const Read& read) -> std::optional<decltype(read(nlohmann::json()))> {
    try {
        return read(nlohmann::json::parse(text));
    } catch (const nlohmann::json::exception&) {
        return std::nullopt;
    }
}

}  // namespace dtrain
