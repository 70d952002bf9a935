// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "protocol/byte_text.hpp"

namespace dtrain::cluster {

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
