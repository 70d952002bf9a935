// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "protocol/checked_line.hpp"

#include <cstdint>

#include <fmt/format.h>

namespace dtrain::cluster {
namespace {

constexpr std::size_t checksum_digits = 8;

/// CRC-32 as in IEEE 802.3, bit by bit, since events are few and short.
std::uint32_t crc32(std::string_view bytes) {
    std::uint32_t crc = 0xFFFFFFFF;
    for (const char byte : bytes) {
        crc ^= static_cast<unsigned char>(byte);
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0xEDB88320 & (0 - (crc & 1)));
    }
    return ~crc;
}

}  // namespace

std::string checked_line(std::string_view content) {
    return fmt::format("{}{:08x} {}", event_marker, crc32(content), content);
}

std::optional<std::string_view> content_of_checked(std::string_view line) {
    if (line.size() < 2 + checksum_digits || line[0] != event_marker || line[1 + checksum_digits] != ' ')
        return std::nullopt;
    const auto content = line.substr(2 + checksum_digits);
    if (line.substr(1, checksum_digits) != fmt::format("{:08x}", crc32(content))) return std::nullopt;
    return content;
}

}  // namespace dtrain::cluster
