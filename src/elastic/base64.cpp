// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "elastic/base64.hpp"

#include <sodium.h>

namespace dtrain::elastic {
namespace {

constexpr int variant = sodium_base64_VARIANT_ORIGINAL;

}  // namespace

std::string to_base64(std::string_view bytes) {
    std::string out(sodium_base64_ENCODED_LEN(bytes.size(), variant), '\0');
    sodium_bin2base64(out.data(), out.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                      bytes.size(), variant);
    out.pop_back();  // the terminating zero
    return out;
}

std::optional<std::string> from_base64(std::string_view text) {
    std::string out(text.size() / 4 * 3 + 2, '\0');
    std::size_t length = 0;
    const char* end = nullptr;
    const bool is_whole = sodium_base642bin(reinterpret_cast<unsigned char*>(out.data()), out.size(),
                                            text.data(), text.size(), nullptr, &length, &end, variant) == 0;
    if (!is_whole || end != text.data() + text.size()) return std::nullopt;
    out.resize(length);
    return out;
}

}  // namespace dtrain::elastic
