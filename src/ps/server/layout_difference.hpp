// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dtrain::ps {

/// Where the trainer's layout is not the server's: the first line that differs, as a message. None: they are
/// the same.
std::optional<std::string> layout_difference(std::string_view server, std::string_view trainer);

}  // namespace dtrain::ps
