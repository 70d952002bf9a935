// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace dtrain::link {

inline constexpr std::size_t key_bytes = 32;

/// The secret that all nodes of a user's jobs share; whoever has it can run programs as that user.
class Key {
  public:
    using Bytes = std::array<unsigned char, key_bytes>;

    explicit Key(const Bytes& bytes) : bytes_(bytes) {}
    Key(const Key&) = default;
    Key& operator=(const Key&) = default;
    ~Key();

    static Key random();
    /// 64 hexadecimal digits, blanks around them ignored; nothing when the text is something else.
    static std::optional<Key> parse(std::string_view text);

    std::string to_hex() const;
    const unsigned char* data() const { return bytes_.data(); }
    friend bool operator==(const Key& a, const Key& b);

  private:
    Bytes bytes_;
};

/// Makes libsodium ready; any number of times.
/// @throws Error when the machine gives it no random numbers.
void start_cryptography();

}  // namespace dtrain::link
