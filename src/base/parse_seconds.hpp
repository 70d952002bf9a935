// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace dtrain {

/// "10", "0.5"; nothing if the text is no number, or not in 0..max.
std::optional<std::chrono::milliseconds> parse_seconds(const std::string& text, std::chrono::seconds max);

}  // namespace dtrain
