// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "elastic/base64.hpp"

#include <array>
#include <cstdint>

namespace dtrain::elastic {
namespace {

constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::size_t bytes_in_group = 3;
constexpr std::size_t letters_in_group = 4;

}  // namespace

std::string to_base64(std::string_view bytes) {
    std::string out;
    out.reserve((bytes.size() + bytes_in_group - 1) / bytes_in_group * letters_in_group);
    for (std::size_t begin = 0; begin < bytes.size(); begin += bytes_in_group) {
        const auto group = bytes.substr(begin, bytes_in_group);
        std::uint32_t bits = 0;
        for (std::size_t at = 0; at < bytes_in_group; ++at)
            bits = bits << 8 | (at < group.size() ? static_cast<unsigned char>(group[at]) : 0U);
        for (std::size_t letter = 0; letter < letters_in_group; ++letter)
            out += letter <= group.size() ? alphabet[bits >> (18 - 6 * letter) & 63U] : '=';
    }
    return out;
}

std::optional<std::string> from_base64(std::string_view text) {
    std::string out;
    for (; !text.empty(); text.remove_prefix(letters_in_group)) {
        if (text.size() < letters_in_group) return std::nullopt;
        std::uint32_t bits = 0;
        std::size_t letters = 0;
        for (const char letter : text.substr(0, letters_in_group)) {
            const auto value = alphabet.find(letter);
            if (value == std::string_view::npos) break;
            bits = bits << 6 | static_cast<std::uint32_t>(value);
            ++letters;
        }
        const auto padding = text.substr(letters, letters_in_group - letters);
        const bool last = text.size() == letters_in_group;
        if (letters < 2 ||
            (!padding.empty() && (!last || padding != std::string_view("==").substr(letters - 2))))
            return std::nullopt;
        bits <<= 6 * (letters_in_group - letters);
        for (std::size_t byte = 0; byte + 1 < letters; ++byte)
            out += static_cast<char>(bits >> (16 - 8 * byte) & 0xffU);
    }
    return out;
}

}  // namespace dtrain::elastic
