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

}  // namespace dtrain::cluster
