// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace dtrain {

/// SplitMix64's output function of the state x (Steele, Lea and Flood, OOPSLA 2014).
constexpr std::uint64_t mixed(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31U);
}

/// A 64-bit checksum that goes on from `start`: for telling equal from different, not against forgery.
inline std::uint64_t checksum(std::uint64_t start, std::uint64_t word) {
    return mixed(start ^ word);
}

inline std::uint64_t checksum(std::uint64_t start, std::span<const std::byte> bytes) {
    auto value = mixed(start ^ bytes.size());
    while (!bytes.empty()) {
        std::uint64_t word = 0;
        const auto taken = std::min(bytes.size(), sizeof(word));
        std::memcpy(&word, bytes.data(), taken);
        value = mixed(value ^ word);
        bytes = bytes.subspan(taken);
    }
    return value;
}

}  // namespace dtrain
