// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace dtrain {

/// SplitMix64 (Steele, Lea and Flood: Fast splittable pseudorandom number generators, OOPSLA 2014): the
/// increment of its state, and the output function of an incremented state.
inline constexpr std::uint64_t splitmix_step = 0x9e3779b97f4a7c15U;
constexpr std::uint64_t splitmix_output(std::uint64_t z) {
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
}

/// SplitMix64's first number for the state x.
constexpr std::uint64_t mixed(std::uint64_t x) {
    return splitmix_output(x + splitmix_step);
}

/// A 64-bit checksum that continues from `start`: detects differences, does not protect against forgery.
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
