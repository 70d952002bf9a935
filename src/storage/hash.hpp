// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/checksum.hpp"

namespace dtrain::storage {

/// 64-bit checksum of a sequence of bytes, numbers and texts. Each step is a bijection of the state, so a
/// change within one 8-byte word is always detected; other damage goes unnoticed with a probability of 2^-64.
class Hash {
  public:
    void add(std::uint64_t word) {
        state_ = std::rotl((state_ ^ word) * 0x9e3779b97f4a7c15ull, 29) * 0xbf58476d1ce4e5b9ull;
    }

    /// Includes the length, so that "ab","c" differs from "a","bc".
    void add(std::string_view text) { add_bytes(text.data(), text.size()); }

    template <class Number>
    void add(std::span<const Number> numbers) {
        add_bytes(numbers.data(), numbers.size_bytes());
    }

    /// Equivalent to add() for numbers that are not contiguous: begin() with their total size in bytes, then
    /// add_part() for each part. All parts but the last must be multiples of 8 bytes.
    void begin(std::uint64_t bytes) { add(bytes); }
    void add_part(std::span<const std::byte> part) { add_words(part.data(), part.size()); }

    std::uint64_t value() const { return splitmix_output(state_); }

  private:
    void add_bytes(const void* data, std::size_t size) {
        add(static_cast<std::uint64_t>(size));
        add_words(data, size);
    }

    void add_words(const void* data, std::size_t size) {
        const auto* bytes = static_cast<const unsigned char*>(data);
        for (; size >= 8; size -= 8, bytes += 8) add(little_endian_word(bytes, 8));
        if (size != 0) add(little_endian_word(bytes, size));
    }

    static std::uint64_t little_endian_word(const unsigned char* bytes, std::size_t size) {
        std::uint64_t word = 0;
        if constexpr (std::endian::native == std::endian::little) {
            std::memcpy(&word, bytes, size);
        } else {
            for (std::size_t i = 0; i < size; ++i) word |= std::uint64_t{bytes[i]} << (8 * i);
        }
        return word;
    }

    std::uint64_t state_ = 0x64747261696e3031ull;
};

}  // namespace dtrain::storage
