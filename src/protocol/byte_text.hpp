// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace dtrain::cluster {

/// Any bytes as a text of UTF-8, such as events have: each byte is the character of that number.
std::string text_of_bytes(std::string_view bytes);

/// The bytes of which text_of_bytes() has made a text.
std::string bytes_of_text(std::string_view text);

/// The beginning of what a rank shows that one event holds, as it is or by text_of_bytes(). It ends with a
/// line if one fits, so that nothing that other ranks show comes into it; else it does not end within a
/// character of UTF-8. Never empty, unless `bytes` is.
std::string_view piece_to_show(std::string_view bytes);

}  // namespace dtrain::cluster
