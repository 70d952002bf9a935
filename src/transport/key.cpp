// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "transport/key.hpp"

#include <sodium.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"

namespace dtrain::transport {

Key::~Key() {
    ::sodium_memzero(bytes_.data(), bytes_.size());
}

Key Key::random() {
    start_cryptography();
    Bytes bytes{};
    ::randombytes_buf(bytes.data(), bytes.size());
    return Key(bytes);
}

std::optional<Key> Key::parse(std::string_view text) {
    const auto digits = trimmed(text);
    Bytes bytes{};
    std::size_t length = 0;
    const char* end = nullptr;
    if (digits.size() != 2 * key_bytes || ::sodium_hex2bin(bytes.data(), bytes.size(), digits.data(),
                                                           digits.size(), nullptr, &length, &end) != 0)
        return std::nullopt;
    if (length != key_bytes || end != digits.data() + digits.size()) return std::nullopt;
    return Key(bytes);
}

std::string Key::to_hex() const {
    std::string text(2 * key_bytes + 1, '\0');
    ::sodium_bin2hex(text.data(), text.size(), bytes_.data(), bytes_.size());
    text.pop_back();
    return text;
}

bool operator==(const Key& a, const Key& b) {
    return ::sodium_memcmp(a.data(), b.data(), key_bytes) == 0;
}

void start_cryptography() {
    if (::sodium_init() < 0) throw Error("this machine gives libsodium no random numbers");
}

}  // namespace dtrain::transport
