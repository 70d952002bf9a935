// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dtrain::ps {

/// A message with the first line in which the trainer's layout differs from the server's; nothing if they are
/// equal.
std::optional<std::string> layout_difference(std::string_view server, std::string_view trainer);

}  // namespace dtrain::ps
