// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "protocol/byte_text.hpp"

#include <algorithm>
#include <cstddef>

#include "base/text.hpp"
#include "protocol/event.hpp"

namespace dtrain::cluster {
namespace {

/// How long a byte is in JSON at most.
std::size_t size_in_json(unsigned char byte) {
    if (byte < 0x20 || byte >= 0x7F) return byte == '\n' || byte == '\t' ? 2 : 6;
    return byte == '"' || byte == '\\' ? 2 : 1;
}

/// Where bytes end that one event holds.
std::size_t end_in_event(std::string_view bytes) {
    std::size_t size = 0;
    std::size_t end = 0;
    while (end < bytes.size() &&
           (size += size_in_json(static_cast<unsigned char>(bytes[end]))) <= max_shown_json)
        ++end;
    return end;
}

/// The same, not within a character of UTF-8.
std::size_t end_of_characters(std::string_view bytes, std::size_t end) {
    constexpr std::size_t longest_character = 4;
    const auto first = end - std::min(end, longest_character);
    auto whole = end;
    while (whole > first && continues_character(bytes[whole])) --whole;
    return whole == first ? end : whole;
}

}  // namespace

std::string_view piece_to_show(std::string_view bytes) {
    const auto end = end_in_event(bytes);
    if (end == bytes.size()) return bytes;
    const auto line = bytes.substr(0, end).rfind('\n');
    return bytes.substr(0, line != std::string_view::npos ? line + 1 : end_of_characters(bytes, end));
}

std::string text_of_bytes(std::string_view bytes) {
    std::string text;
    text.reserve(bytes.size());
    for (const char byte : bytes) {
        const auto number = static_cast<unsigned char>(byte);
        if (number < 0x80) {
            text += byte;
        } else {
            text += static_cast<char>(0xC0U | number >> 6U);
            text += static_cast<char>(0x80U | (number & 0x3FU));
        }
    }
    return text;
}

std::string bytes_of_text(std::string_view text) {
    std::string bytes;
    bytes.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto first = static_cast<unsigned char>(text[i]);
        if (first < 0x80 || i + 1 == text.size())
            bytes += text[i];
        else
            bytes +=
                static_cast<char>((first & 0x03U) << 6U | (static_cast<unsigned char>(text[++i]) & 0x3FU));
    }
    return bytes;
}

}  // namespace dtrain::cluster
