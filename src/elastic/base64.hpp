// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dtrain::elastic {

/// Base64 of RFC 4648, section 4, with padding: the encoding of bytes in Protocol Buffers' JSON.
std::string to_base64(std::string_view bytes);

/// Nothing if the text is not valid output of to_base64.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace dtrain::elastic
