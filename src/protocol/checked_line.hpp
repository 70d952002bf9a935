// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dtrain::cluster {

/// First byte of every line of a worker for its launcher; text programs do not print it by accident. No
/// content has it.
inline constexpr char event_marker = '\x1e';

/// One line without its line end: marker, CRC-32 of the content in hex, a blank, the content. Pure.
std::string checked_line(std::string_view content);

/// The content of such a line, or nothing if it is another line or was corrupted. Pure.
std::optional<std::string_view> content_of_checked(std::string_view line);

}  // namespace dtrain::cluster
