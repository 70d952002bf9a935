// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace dtrain::transport {

inline constexpr std::size_t key_bytes = 32;

/// The secret shared by all nodes of a user's jobs; whoever has it can run programs as that user.
class Key {
  public:
    using Bytes = std::array<unsigned char, key_bytes>;

    explicit Key(const Bytes& bytes) : bytes_(bytes) {}
    Key(const Key&) = default;
    Key& operator=(const Key&) = default;
    ~Key();

    static Key random();
    /// Parses 64 hexadecimal digits, ignoring surrounding blanks; nothing for any other text.
    static std::optional<Key> parse(std::string_view text);

    std::string to_hex() const;
    const unsigned char* data() const { return bytes_.data(); }
    friend bool operator==(const Key& a, const Key& b);

  private:
    Bytes bytes_;
};

/// Initializes libsodium; may be called any number of times.
/// @throws Error if the machine provides no random numbers.
void start_cryptography();

}  // namespace dtrain::transport
