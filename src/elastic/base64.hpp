// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dtrain::elastic {

/// RFC 4648, section 4, with padding: how JSON of Protocol Buffers carries bytes.
std::string to_base64(std::string_view bytes);

/// Nothing when the text is not what to_base64 writes.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace dtrain::elastic
