// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "metrics/crc32c.hpp"

#include <array>

namespace dtrain::metrics {
namespace {

constexpr std::uint32_t reversed_polynomial = 0x82f63b78;

constexpr std::array<std::uint32_t, 256> table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        auto remainder = byte;
        for (int bit = 0; bit < 8; ++bit)
            remainder = (remainder >> 1U) ^ ((remainder & 1U) != 0 ? reversed_polynomial : 0);
        made[byte] = remainder;
    }
    return made;
}();

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
    std::uint32_t sum = 0xffffffff;
    for (const char byte : bytes) sum = (sum >> 8U) ^ table[(sum ^ static_cast<unsigned char>(byte)) & 0xffU];
    return ~sum;
}

std::uint32_t masked_crc32c(std::string_view bytes) {
    const auto sum = crc32c(bytes);
    return ((sum >> 15U) | (sum << 17U)) + 0xa282ead8U;
}

}  // namespace dtrain::metrics
